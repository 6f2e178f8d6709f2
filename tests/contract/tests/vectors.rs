//! The vectors of tests/vectors, natively. Workerd answers the same in `tests/workerd/vectors.test.mjs`, and the SDK's two
//! encodings in `sdk/tests/vectors.test.mjs`.

use std::fs;
use std::path::Path;

use oncegate_contract::vectors::answer;
use serde_json::Value;

#[test]
fn every_vector_is_answered_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let mut answered = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let vectors: Vec<Value> =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for vector in vectors {
            let said: Value = serde_json::from_str(&answer(name, &vector.to_string())).unwrap();
            assert_eq!(said, vector["expected"], "{name}: {vector}");
            answered += 1;
        }
    }
    assert!(answered > 80, "only {answered} vectors");
}
