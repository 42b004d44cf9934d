//! The recorder takes the library's place: it bears its soname.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsched.so.1");
}
