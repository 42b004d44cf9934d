//! The compilers, and the flags that the installed libsched.pc gives.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sched_tools::process::shown;

use crate::kinds::Kinds;
use crate::options::Options;

#[derive(Clone)]
pub struct Toolchain {
    pub cc: PathBuf,
    /// None if there is no C++ compiler.
    pub cxx: Option<PathBuf>,
    pub pc: PkgConfig,
    pub libdir: PathBuf,
    pub archive: PathBuf,
    /// The folder of the library's debug build, if it was built.
    pub debug: Option<PathBuf>,
    /// The abilities of the kinds, for the programs.
    pub kinds: Kinds,
    /// Programs are compiled with [`FORTIFIED`].
    pub fortified: bool,
}

/// The fields of the .pc file, with its variables expanded.
#[derive(Clone)]
pub struct PkgConfig {
    pub file: PathBuf,
    pub cflags: Vec<String>,
    pub libs: Vec<String>,
    pub libs_private: Vec<String>,
}

pub const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// The checks of the C library's calls for overflows. Some distributions' compilers, such as
/// Ubuntu's, have them on by themselves. They find errors in the tests, and with them gcc 13 warns of
/// more. Sanitizers and valgrind look at the same calls, and shall see them as they are.
const FORTIFIED: &[&str] = &["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"];

impl Toolchain {
    /// The toolchain that the options ask for.
    pub fn find(prefix: &Path, options: &Options) -> Result<Toolchain> {
        let other = options.libdir.as_deref();
        let cc = compiler(false).context("no C compiler (set CC)")?;
        let cxx = compiler(true).ok();
        let plain = options.sanitize.is_some() || !options.under.is_empty();
        let fortified = !plain && fortifies(&cc) && cxx.as_deref().is_none_or(fortifies);
        let libdir = prefix.join("lib");
        let debug = prefix.with_file_name("debug").join("lean");
        Ok(Toolchain {
            cc,
            cxx,
            pc: PkgConfig::read(&libdir.join("pkgconfig/libsched.pc"))?,
            archive: libdir.join("libsched.a"),
            debug: debug.join("libsched.so.1").exists().then_some(debug),
            libdir: other.map_or(Ok(libdir), std::path::absolute)?,
            kinds: Kinds::default(),
            fortified,
        })
    }
}

/// Whether the compiler and the C library's headers know [`FORTIFIED`]: an older one warns.
fn fortifies(compiler: &Path) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-O2", "-Werror"]).args(FORTIFIED);
    command.args(["-fsyntax-only", "-x", "c", "-include", "stdio.h", "/dev/null"]);
    command.output().is_ok_and(|out| out.status.success())
}

/// The compiler that the cc crate would take, which includes CC and CXX of the environment.
fn compiler(cpp: bool) -> Result<PathBuf> {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let tool = cc::Build::new()
        .cpp(cpp)
        .target(&triple)
        .host(&triple)
        .opt_level(2)
        .cargo_metadata(false)
        .cargo_warnings(false)
        .try_get_compiler()?;
    let works = Command::new(tool.path()).arg("--version").output();
    ensure!(works.is_ok_and(|out| out.status.success()), "{} does not run", tool.path().display());
    Ok(tool.path().to_path_buf())
}

impl PkgConfig {
    pub fn read(file: &Path) -> Result<PkgConfig> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let mut variables: HashMap<String, String> = HashMap::new();
        let folder = file.parent().unwrap_or(Path::new("/")).display().to_string();
        variables.insert("pcfiledir".to_string(), folder);
        let mut fields: HashMap<String, String> = HashMap::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            match (line.find('='), line.find(':')) {
                (Some(equals), colon) if colon.is_none_or(|colon| equals < colon) => {
                    let value = expand(line[equals + 1..].trim(), &variables);
                    variables.insert(line[..equals].trim().to_string(), value);
                }
                (_, Some(colon)) => {
                    let value = expand(line[colon + 1..].trim(), &variables);
                    fields.insert(line[..colon].trim().to_string(), value);
                }
                _ => {}
            }
        }
        let words = |name: &str| -> Vec<String> {
            fields
                .get(name)
                .map_or("", |text| text)
                .split_whitespace()
                .map(str::to_string)
                .collect()
        };
        for name in ["Name", "Description", "Version"] {
            ensure!(!words(name).is_empty(), "{}: no field {name}", file.display());
        }
        Ok(PkgConfig {
            file: file.to_path_buf(),
            cflags: words("Cflags"),
            libs: words("Libs"),
            libs_private: words("Libs.private"),
        })
    }
}

fn expand(text: &str, variables: &HashMap<String, String>) -> String {
    let mut text = text.to_string();
    for (name, value) in variables {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}

/// The library that a program is linked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    Shared,
    Static,
    /// The shared library's debug build.
    Debug,
}

/// How to build one program.
pub struct Program<'a> {
    pub source: &'a Path,
    pub output: &'a Path,
    /// The path of the shared object that a program with a plugin loads.
    pub plugin: &'a Path,
    pub library: Library,
    pub unlinked: bool,
    pub cflags: &'a [String],
    pub libraries: &'a [String],
    /// The word of -fsanitize.
    pub sanitize: Option<&'a str>,
    /// The number that the program divides its sizes by.
    pub smaller: u32,
    pub optimize: u32,
    /// A folder whose sched.h is taken, by -iquote, instead of the installed one.
    pub header: Option<&'a Path>,
}

impl<'a> Program<'a> {
    /// One without anything special, which is linked with the shared library.
    pub fn plain(source: &'a Path, output: &'a Path) -> Program<'a> {
        Program {
            source,
            output,
            plugin: Path::new(""),
            library: Library::Shared,
            unlinked: false,
            cflags: &[],
            libraries: &[],
            sanitize: None,
            smaller: 1,
            optimize: 2,
            header: None,
        }
    }

    /// Builds the program, with these further sources.
    pub fn build(&self, tools: &Toolchain, parts: &[PathBuf]) -> Result<()> {
        let mut command = self.command(tools).map_err(anyhow::Error::msg)?;
        ensure!(command.args(parts).status()?.success(), "{}", shown(&command));
        Ok(())
    }

    /// The command that builds the plugin.
    pub fn plugin_command(&self, tools: &Toolchain) -> Command {
        let mut command = Command::new(&tools.cc);
        command.args(["-std=c11", "-O2", "-g", "-pthread", "-DPLUGIN", "-fPIC", "-shared"]);
        command.args(WARNINGS).args(&tools.pc.cflags).arg(tools.kinds.definition());
        command.arg("-o").arg(self.plugin).arg(self.source);
        command.arg(&tools.archive).args(&tools.pc.libs_private);
        command
    }

    /// The command that builds the program, or what this machine lacks for it.
    pub fn command(&self, tools: &Toolchain) -> Result<Command, &'static str> {
        let mut command = self.compiler(tools)?;
        command.arg("-o").arg(self.output).arg(self.source);
        self.link(command, tools)
    }

    /// The command that compiles the program without linking it, for several libraries.
    pub fn object_command(
        &self,
        tools: &Toolchain,
        object: &Path,
    ) -> Result<Command, &'static str> {
        let mut command = self.compiler(tools)?;
        command.arg("-c").arg("-o").arg(object).arg(self.source);
        Ok(command)
    }

    /// The command that links what [`Self::object_command`] has compiled.
    pub fn link_command(&self, tools: &Toolchain, object: &Path) -> Result<Command, &'static str> {
        let mut command = self.compiler(tools)?;
        command.arg("-o").arg(self.output).arg(object);
        self.link(command, tools)
    }

    fn compiler(&self, tools: &Toolchain) -> Result<Command, &'static str> {
        let cpp = self.source.extension().is_some_and(|e| e == "cpp");
        let compiler = if cpp { tools.cxx.as_ref() } else { Some(&tools.cc) };
        let mut command = Command::new(compiler.ok_or("no C++ compiler")?);
        command.arg(if cpp { "-std=c++17" } else { "-std=c11" });
        // -g1: lines are enough for a backtrace, and take half as long to write.
        command.arg(format!("-O{}", self.optimize)).args(["-g1", "-pthread"]).args(WARNINGS);
        command.args(if tools.fortified { FORTIFIED } else { &[] });
        command.args(self.cflags);
        command.args(self.sanitize.map(|word| format!("-fsanitize={word}")));
        match self.header {
            Some(folder) => command.arg("-iquote").arg(folder),
            None => command.args(&tools.pc.cflags),
        };
        command.arg(format!("-DSMALLER={}", self.smaller));
        command.arg(tools.kinds.definition());
        command.arg(format!("-DCTEST_LIBDIR=\"{}\"", tools.libdir.display()));
        command.arg(format!("-DCTEST_PLUGIN=\"{}\"", self.plugin.display()));
        Ok(command)
    }

    fn link(&self, mut command: Command, tools: &Toolchain) -> Result<Command, &'static str> {
        let mut with = |folder: &Path| {
            command.arg(format!("-L{}", folder.display())).args(&tools.pc.libs);
            command.arg(format!("-Wl,-rpath,{}", folder.display()));
        };
        match self.library {
            _ if self.unlinked => {}
            Library::Static => _ = command.arg(&tools.archive).args(&tools.pc.libs_private),
            Library::Shared => with(&tools.libdir),
            Library::Debug => with(tools.debug.as_ref().ok_or("no debug build of the library")?),
        }
        command.args(self.libraries.iter().map(|name| format!("-l{name}")));
        Ok(command)
    }
}
