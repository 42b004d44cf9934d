//! sched-simulator: predicts how programs scale. `sched-simulator lab` is the experiment of `make
//! lab`; `sched-simulator replay FILE` predicts a program that you have recorded.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use sched_simulator::lab::{self, Options};
use sched_simulator::process::Places;
use sched_simulator::report::Report;

/// Replays recorded task DAGs on 1 to 1024 simulated workers, with costs measured on this machine.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The folder of `costs`, and of the recorder as libsched.so.1
    #[arg(long, global = true, default_value = "target/lab")]
    lab: PathBuf,
    /// Seed of the choice of victims
    #[arg(long, global = true, default_value_t = 1)]
    seed: u64,
    /// Also writes all figures to this file
    #[arg(long, global = true)]
    json: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Records programs of bench_c, predicts them, and compares with what is measured
    Lab {
        /// The folder of the compiled benchmark programs
        #[arg(long)]
        programs: PathBuf,
        /// Small sizes
        #[arg(long)]
        quick: bool,
        /// Rounds of recordings and measurements [default: 20, with --quick 8]
        #[arg(long)]
        rounds: Option<usize>,
    },
    /// Predicts a program that was recorded: LD_LIBRARY_PATH=LAB SCHED_RECORD=FILE ./program
    Replay {
        file: PathBuf,
        /// Shows predictions also if a busy machine has spoilt the recording or the costs
        #[arg(long)]
        doubtful: bool,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("sched-simulator: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let Arguments { command, lab, seed, json } = arguments;
    let lab = lab.canonicalize().with_context(|| lab.display().to_string())?;
    let options =
        |programs, quick, rounds| Options { places: Places { programs, lab }, quick, rounds, seed };
    let report: Report = match command {
        Command::Lab { programs, quick, rounds } => {
            lab::run(&options(programs, quick, rounds), |what| eprintln!("{what}"))?
        }
        Command::Replay { file, doubtful } => {
            let report = lab::replay(&options(PathBuf::new(), false, None), &file)?;
            let doubts = report.doubts();
            ensure!(
                doubts.is_empty() || doubtful,
                "{}\nNothing is predicted from that: record and replay on a quiet machine, or add --doubtful",
                doubts.join("\n")
            );
            report
        }
    };
    print!("{}", report.markdown());
    if let Some(path) = json {
        std::fs::write(&path, serde_json::to_string(&report)?)
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}
