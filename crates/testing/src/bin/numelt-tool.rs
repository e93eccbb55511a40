//! A command line for programs in text or binary form: prints, converts, verifies, plans, runs and shrinks them.

use numelt_ir::{Error, Program, Result, interpret, verify, wire};
use numelt_opt::{Fuse, Options};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program, plan_executor};
use numelt_testing::filetest::show_outputs;
use numelt_testing::generator::{Limits, generate};
use numelt_testing::kernel_interp::{PointOrder, run_plan};
use numelt_testing::{fill, shrink};
use std::io::{Read, Write};
use std::process::ExitCode;

const USAGE: &str = "\
usage: numelt-tool COMMAND [OPTIONS] [FILE]
       numelt-tool pack [OPTIONS] [FILE [RESULT]]

FILE holds a program in text or binary form; without one, or with -, it is read from standard input.

commands
  cat       print in text form, which leaves out contents of bases and conditions to report
  pack      write in binary form (docs/wire.md) to RESULT, or to standard output
  verify    check every invariant
  opt       show the passes, the partition and the kernels (--dot: the partition as Graphviz)
  run       print the outputs; inputs without contents are filled from the seed (--planned: by its plan)
  check     compare the plans of all partitions with the interpreter
  reduce    cut a program that `check` rejects down and print it
  random    print the random program of the seed

options
  --seed N      seed of the data, or of `random` (default 0)
  --contents    pack with contents for the inputs: those of FILE, or made from the seed
  --fuse F      singleton, naive, greedy (the default), unintrusive or optimal
  --passes P    all (the default), none, or names with commas between them
  --planned     run the plan instead of the program
  --dot         Graphviz
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Command::parse(&args).and_then(|command| command.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("numelt-tool: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Command {
    name: String,
    file: Option<String>,
    result: Option<String>,
    seed: u64,
    options: Options,
    planned: bool,
    dot: bool,
    contents: bool,
}

/// A program, and for each base the contents that its file contains, if any.
struct Input {
    program: Program,
    contents: Vec<Option<Vec<u8>>>,
}

fn io_error(place: &str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Io(format!("{place}: {error}"))
}

impl Command {
    fn parse(args: &[String]) -> Result<Command> {
        let usage = |message: &str| Error::Config(format!("{message}\n\n{USAGE}"));
        let mut args = args.iter();
        let name = args.next().cloned().ok_or_else(|| usage("a command is missing"))?;
        let mut command = Command {
            name,
            file: None,
            result: None,
            seed: 0,
            options: Options::default(),
            planned: false,
            dot: false,
            contents: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| usage(&format!("{arg} takes a value")));
            match arg.as_str() {
                "--seed" => command.seed = value()?.parse().map_err(|_| usage("a seed is a number"))?,
                "--fuse" => command.options.fuse = value()?.parse()?,
                "--passes" => command.options.passes = value()?.parse()?,
                "--planned" => command.planned = true,
                "--dot" => command.dot = true,
                "--contents" => command.contents = true,
                file if file == "-" || !file.starts_with('-') => command.add_file(file).map_err(|e| usage(&e))?,
                other => return Err(usage(&format!("unknown option {other}"))),
            }
        }
        Ok(command)
    }

    fn add_file(&mut self, file: &str) -> std::result::Result<(), String> {
        let place = match (&self.file, self.name.as_str()) {
            (None, _) => &mut self.file,
            (Some(_), "pack") if self.result.is_none() => &mut self.result,
            _ => return Err(format!("{file} is one file too many")),
        };
        *place = Some(file.to_string());
        Ok(())
    }

    fn input(&self) -> Result<Input> {
        let bytes = match self.file.as_deref() {
            None | Some("-") => {
                let mut bytes = Vec::new();
                std::io::stdin().read_to_end(&mut bytes).map_err(io_error("standard input"))?;
                bytes
            }
            Some(file) => std::fs::read(file).map_err(io_error(file))?,
        };
        if wire::is_message(&bytes) {
            let message = wire::decode(&bytes)?;
            let contents = message.contents.into_iter().map(|bytes| bytes.map(<[u8]>::to_vec)).collect();
            return Ok(Input { program: message.program, contents });
        }
        let text =
            String::from_utf8(bytes).map_err(|_| Error::Io("neither a program in binary form nor text".to_string()))?;
        let program: Program = text.parse()?;
        let contents = vec![None; program.bases.len()];
        Ok(Input { program, contents })
    }

    fn program(&self) -> Result<Program> {
        Ok(self.input()?.program)
    }

    fn run(&self) -> Result<()> {
        if self.name == "pack" {
            return self.pack();
        }
        let text = self.show()?;
        std::io::stdout().write_all(text.as_bytes()).map_err(io_error("standard output"))
    }

    fn show(&self) -> Result<String> {
        match self.name.as_str() {
            "cat" => Ok(self.program()?.to_string()),
            "verify" => verify(&self.program()?).map(|()| "valid\n".to_string()),
            "opt" => self.explain(),
            "run" => self.execute(),
            "check" => self.check(&self.program()?).map(|()| "the plans of all partitions agree\n".to_string()),
            "reduce" => self.reduce(),
            "random" => Ok(generate(self.seed, &Limits::default()).to_string()),
            "help" | "--help" | "-h" => Ok(USAGE.to_string()),
            other => Err(Error::Config(format!("unknown command {other:?}\n\n{USAGE}"))),
        }
    }

    /// Bytes for every base: those of the file if it has them, otherwise made-up ones.
    fn memory(&self, input: &Input) -> Vec<Vec<u8>> {
        let filled = fill::fill(&input.program, self.seed);
        input.contents.iter().zip(filled).map(|(given, filled)| given.clone().unwrap_or(filled)).collect()
    }

    fn pack(&self) -> Result<()> {
        let input = self.input()?;
        let memory = if self.contents { self.memory(&input) } else { Vec::new() };
        let inputs = input.program.bases.iter().zip(&memory);
        let contents: Vec<Option<&[u8]>> = inputs.map(|(base, bytes)| base.input.then_some(&bytes[..])).collect();
        let message = wire::encode(&input.program, &contents)?;
        match self.result.as_deref() {
            None | Some("-") => std::io::stdout().write_all(&message).map_err(io_error("standard output")),
            Some(file) => std::fs::write(file, message).map_err(io_error(file)),
        }
    }

    fn explain(&self) -> Result<String> {
        let program = self.program()?;
        verify(&program)?;
        let explanation = numelt_opt::explain(&program, &self.options)?;
        Ok(if self.dot { explanation.to_dot() } else { explanation.to_string() })
    }

    fn execute(&self) -> Result<String> {
        let input = self.input()?;
        let (mut memory, program) = (self.memory(&input), input.program);
        if self.planned {
            verify(&program)?;
            run_plan(&numelt_opt::plan(&program, &self.options)?, &mut memory, PointOrder::Forward)?;
        } else {
            interpret(&program, &mut memory)?;
        }
        Ok(show_outputs(&program, &memory))
    }

    fn check(&self, program: &Program) -> Result<()> {
        verify(program)?;
        let options = CheckOptions { seed: self.seed, tolerance: Tolerance::NONE };
        for fuse in Fuse::ALL {
            for order in [PointOrder::Forward, PointOrder::Backward] {
                check_program(program, &options, &mut plan_executor(Options { fuse, ..self.options }, order))
                    .map_err(|failure| Error::Invalid(format!("{fuse}, {order:?}:\n{failure}")))?;
            }
        }
        Ok(())
    }

    fn reduce(&self) -> Result<String> {
        let program = self.program()?;
        if !shrink::is_sound(&program) {
            return Err(Error::Invalid("the program does not verify, or reads bytes that hold nothing".to_string()));
        }
        match self.check(&program) {
            Ok(()) => Err(Error::Invalid("the program does not fail: nothing to reduce".to_string())),
            Err(Error::Invalid(message)) => Ok(message),
            Err(other) => Err(other),
        }
    }
}
