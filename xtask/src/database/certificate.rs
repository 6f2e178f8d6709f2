//! The certificate of a server for tests. Invariant: its key never leaves the server's folder, and belongs to the server's
//! user alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Server;
use crate::process::run;
use crate::project::Project;
use crate::setup::openssl;
use crate::ui::Step;

/// For the address on which the server listens. It vouches for itself alone.
const REQUEST: &str = "[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = 127.0.0.1
[extensions]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1
";

impl Server {
    /// What a client has to trust.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }

    pub(super) fn certificate_key(&self) -> PathBuf {
        self.folder.join("certificate.key")
    }

    /// Makes a certificate, if there is none.
    pub(super) fn make_certificate(&self, project: &Project) -> Result<()> {
        if self.certificate().exists() {
            return Ok(());
        }
        let step = Step::start(format!("making a certificate for {}", self.name()));
        let request = self.folder.join("certificate.conf");
        fs::write(&request, REQUEST)
            .with_context(|| format!("cannot write {}", request.display()))?;
        let openssl: &Path = &openssl(project)?;
        let mut make = self.program(openssl);
        make.args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "30"])
            .args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-config"])
            .arg(&request)
            .arg("-keyout")
            .arg(self.certificate_key())
            .arg("-out")
            .arg(self.certificate());
        run(&mut make, &step, &self.folder.join("certificate.log"))?;
        step.done();
        Ok(())
    }
}
