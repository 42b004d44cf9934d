//! The recorder has the library's soname, because it takes the library's place.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsched.so.1");
}
