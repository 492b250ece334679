//! The kernel, its modules and the emulator, as a folder holds them.

use crate::Error;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that `cwnd linux setup` has put into a folder: `machine.json` lists them.
#[derive(Debug, Deserialize)]
pub struct Machine {
    /// As `uname -r` prints it.
    pub release: String,
    /// The emulator's program and its first arguments.
    pub emulator: Vec<String>,
    pub kernel: PathBuf,
    /// The description of the kernel's types.
    pub btf: PathBuf,
    pub modules: BTreeMap<String, Module>,
}

#[derive(Debug, Deserialize)]
pub struct Module {
    pub file: PathBuf,
    /// The modules that it needs.
    pub depends: Vec<String>,
}

impl Machine {
    pub fn open(folder: &Path) -> Result<Machine, Error> {
        let list = folder.join("machine.json");
        let text = fs::read(&list).map_err(Error::of(list.display()))?;
        let mut machine: Machine = serde_json::from_slice(&text).map_err(Error::of(list.display()))?;
        machine.kernel = folder.join(machine.kernel);
        machine.btf = folder.join(machine.btf);
        machine.modules.values_mut().for_each(|module| module.file = folder.join(&module.file));
        Ok(machine)
    }

    /// Modules after those that they need. One that the kernel has built in is in no list.
    pub fn modules_for(&self, names: &[String]) -> Vec<(&str, &Path)> {
        let mut found: Vec<(&str, &Path)> = Vec::new();
        for name in names {
            self.add(name, &mut found);
        }
        found
    }

    fn add<'a>(&'a self, name: &str, found: &mut Vec<(&'a str, &'a Path)>) {
        let Some((name, module)) = self.modules.get_key_value(name) else { return };
        if found.iter().any(|(other, _)| other == name) {
            return;
        }
        for other in &module.depends {
            self.add(other, found);
        }
        found.push((name, &module.file));
    }
}
