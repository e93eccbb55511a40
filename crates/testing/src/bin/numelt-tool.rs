//! Looks at programs in text form: prints, verifies, plans, runs and cuts them down.

use numelt_ir::{Error, Program, Result, interpret, verify};
use numelt_opt::{Fuse, Options};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program, plan_executor};
use numelt_testing::filetest::show_outputs;
use numelt_testing::generator::{Limits, generate};
use numelt_testing::kernel_interp::{PointOrder, run_plan};
use numelt_testing::{fill, shrink};
use std::io::Read;
use std::process::ExitCode;

const USAGE: &str = "\
usage: numelt-tool COMMAND [OPTIONS] [FILE]

FILE holds a program in text form; without one, or with -, it is read from standard input.

commands
  cat       parse and print
  verify    check every invariant
  opt       show the passes, the partition and the kernels (--dot: the partition as Graphviz)
  run       fill the inputs from the seed and print the outputs (--planned: by its plan)
  check     compare the plans of all partitions with the interpreter
  reduce    cut a program that `check` rejects down and print it
  random    print the random program of the seed

options
  --seed N      seed of the data, or of `random` (default 0)
  --fuse F      singleton, naive, greedy (the default), unintrusive or optimal
  --passes P    all (the default), none, or names with commas between them
  --planned     run the plan instead of the program
  --dot         Graphviz
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Command::parse(&args).and_then(|command| command.run()) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("numelt-tool: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Command {
    name: String,
    file: Option<String>,
    seed: u64,
    options: Options,
    planned: bool,
    dot: bool,
}

impl Command {
    fn parse(args: &[String]) -> Result<Command> {
        let usage = |message: &str| Error::Config(format!("{message}\n\n{USAGE}"));
        let mut args = args.iter();
        let name = args.next().cloned().ok_or_else(|| usage("a command is missing"))?;
        let mut command =
            Command { name, file: None, seed: 0, options: Options::default(), planned: false, dot: false };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| usage(&format!("{arg} takes a value")));
            match arg.as_str() {
                "--seed" => command.seed = value()?.parse().map_err(|_| usage("a seed is a number"))?,
                "--fuse" => command.options.fuse = value()?.parse()?,
                "--passes" => command.options.passes = value()?.parse()?,
                "--planned" => command.planned = true,
                "--dot" => command.dot = true,
                file if file == "-" || !file.starts_with('-') => command.file = Some(file.to_string()),
                other => return Err(usage(&format!("unknown option {other}"))),
            }
        }
        Ok(command)
    }

    fn program(&self) -> Result<Program> {
        let io = |e: std::io::Error| Error::Io(e.to_string());
        let text = match self.file.as_deref() {
            None | Some("-") => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map_err(io)?;
                text
            }
            Some(file) => std::fs::read_to_string(file).map_err(|e| Error::Io(format!("{file}: {e}")))?,
        };
        text.parse()
    }

    fn run(&self) -> Result<String> {
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

    fn explain(&self) -> Result<String> {
        let program = self.program()?;
        verify(&program)?;
        let explanation = numelt_opt::explain(&program, &self.options)?;
        Ok(if self.dot { explanation.to_dot() } else { explanation.to_string() })
    }

    fn execute(&self) -> Result<String> {
        let program = self.program()?;
        let mut memory = fill::fill(&program, self.seed);
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
