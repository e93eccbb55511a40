//! numelt's test tools: file tests, engine conformance, program generator, command line.
