//! The programs have the same bits as the Python programs under numelt, which `scripts/rust_tables.py` has written to a
//! file.

use numelt::AnyArray;
use numelt::rules::names::numpy_name;
use numelt_example_programs::PROGRAMS;
use numelt_example_programs::options::Options;

fn described(name: &str, array: &AnyArray) -> String {
    let size = array.dtype().size();
    let bytes: Vec<u8> =
        array.to_scalars().unwrap().iter().flat_map(|scalar| scalar.to_bytes().into_iter().take(size)).collect();
    let shape: Vec<String> = array.shape().iter().map(i64::to_string).collect();
    let checksum = crc32fast::hash(&bytes);
    format!("  {name} {} ({}) {checksum:08x}", numpy_name(array.dtype()), shape.join(","))
}

#[test]
fn results_are_those_of_the_python_programs() {
    let table = include_str!("results.txt");
    let mut lines = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with(' ')) {
        let mut options = Options::parse(line.split(' ').map(str::to_owned)).unwrap();
        options.quiet = true;
        let program = PROGRAMS.iter().find(|program| program.name == options.program).unwrap();
        lines.push(line.to_owned());
        lines.extend((program.run)(&options).0.iter().map(|(name, array)| described(name, array)));
    }
    assert_eq!(lines, table.lines().collect::<Vec<_>>());
}

#[test]
fn versions_with_ndarray_compute_the_same() {
    for line in include_str!("results.txt").lines().filter(|line| !line.starts_with(' ')) {
        let mut options = Options::parse(line.split(' ').map(str::to_owned)).unwrap();
        options.quiet = true;
        let program = PROGRAMS.iter().find(|program| program.name == options.program).unwrap();
        let ours = (program.run)(&options).0.remove(0).1.astype(numelt::DType::F64).typed::<f64>().unwrap();
        let theirs = (program.with_ndarray)(&options).0;
        let largest = theirs.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let apart = ours.nd().unwrap().view().iter().zip(&theirs).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(apart <= 1e-10 * largest, "{line}: {apart} of {largest}");
    }
}
