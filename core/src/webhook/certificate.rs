//! What is read off a certificate: its public key, its serial number, and when it is valid. Who issued
//! it is not asked: the operator has put it there.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_cert::Certificate;
use x509_cert::der::asn1::UintRef;
use x509_cert::der::{Decode, Encode, Reader, SliceReader};
use x509_cert::spki::SubjectPublicKeyInfoRef;

/// See above.
pub(super) struct Read {
    pub(super) public_key: Vec<u8>,
    /// In hexadecimal, upper case.
    pub(super) serial: String,
    pub(super) not_before_ms: u64,
    pub(super) not_after_ms: u64,
}

/// Reads a certificate, PEM or the base64 inside it.
pub(super) fn certificate(text: &str) -> Option<Read> {
    let certificate = Certificate::from_der(&unarmoured(text)?).ok()?;
    let signed = certificate.tbs_certificate();
    let validity = signed.validity();
    let ms = |time: x509_cert::time::Time| time.to_unix_duration().as_secs() * 1_000;
    Some(Read {
        public_key: signed.subject_public_key_info().to_der().ok()?,
        serial: hexadecimal(signed.serial_number().as_bytes()),
        not_before_ms: ms(validity.not_before),
        not_after_ms: ms(validity.not_after),
    })
}

/// The shortest RSA key that is accepted, in bytes of its modulus.
const SHORTEST_MODULUS: usize = 256;

/// Reads a public RSA key, PEM or the base64 inside it, or checks the one of a certificate.
pub(super) fn rsa_key(der: Vec<u8>) -> Option<Vec<u8>> {
    const RSA: &str = "1.2.840.113549.1.1.1";
    let key = SubjectPublicKeyInfoRef::from_der(&der).ok()?;
    let modulus = modulus_length(key.subject_public_key.as_bytes()?).ok()?;
    let is_usable = key.algorithm.oid == x509_cert::der::asn1::ObjectIdentifier::new_unwrap(RSA)
        && modulus >= SHORTEST_MODULUS;
    is_usable.then_some(der)
}

/// The bytes of the first of the two numbers of an `RSAPublicKey`.
fn modulus_length(der: &[u8]) -> x509_cert::der::Result<usize> {
    SliceReader::new(der)?.sequence(|numbers| {
        let modulus = UintRef::decode(numbers)?;
        UintRef::decode(numbers)?;
        Ok(modulus.as_bytes().len())
    })
}

/// The bytes of a PEM, or of the base64 inside one.
pub(super) fn unarmoured(text: &str) -> Option<Vec<u8>> {
    let lines = text.lines().map(str::trim);
    let inside: String = lines.filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(inside).ok().filter(|der| !der.is_empty())
}

fn hexadecimal(bytes: &[u8]) -> String {
    // Of a number that would look negative, DER begins with a zero that is not of the number.
    let number = match bytes {
        [0, rest @ ..] if !rest.is_empty() => rest,
        whole => whole,
    };
    crate::hex::encode(number).to_ascii_uppercase()
}
