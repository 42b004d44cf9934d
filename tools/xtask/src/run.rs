//! Runs the script of a gate.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::gates::{Gate, Table};
use crate::{root, target};

/// A script that cannot run here says why, and ends with this status.
const SKIPPED: i32 = 77;

/// A command in the root of the project, without the flags of the make that called this. A make
/// finds the variables of that make's command line in the environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        command.env_remove(name);
    }
    command
}

/// The make that called this.
pub fn make() -> OsString {
    env::var_os("MAKE").unwrap_or_else(|| "make".into())
}

/// Makes what the gate needs, and runs its script, whose arguments are the words. False if
/// something has failed.
pub fn gate(table: &Table, gate: &Gate, words: &[String]) -> Result<bool> {
    let Some(script) = &gate.run else { bail!("{} is a rule of the Makefile", gate.name) };
    let processors = std::thread::available_parallelism()?.to_string();
    if !gate.needs.is_empty() {
        let mut needs = command(make());
        needs.args(["--no-print-directory", "-j", &processors]).args(&gate.needs);
        if !needs.status().context("make")?.success() {
            return Ok(false);
        }
    }
    let mut sh = command("sh");
    sh.args(["-eu", "-c", &format!("{}\n{script}", table.shell), &gate.name]).args(words);
    let target = target();
    sh.env("GATE", &gate.name).env("ROOT", root()).env("TARGET", &target);
    sh.env("STAGE", target.join("stage")).env("BENCH", target.join("bench"));
    sh.env("MAKE", make()).env("NPROC", processors).env("XTASK", env::current_exe()?);
    sh.env("CARGO", env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let extent = gate.extent.as_ref();
    if let Some(extent) = extent.filter(|extent| env::var_os(&extent.variable).is_none()) {
        sh.env(&extent.variable, extent.default().unwrap_or_default());
    }
    let status = sh.status().context("sh")?;
    if status.code() == Some(SKIPPED) {
        println!("{}: skipped", gate.name);
        return Ok(true);
    }
    Ok(status.success())
}
