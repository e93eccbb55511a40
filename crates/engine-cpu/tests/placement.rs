//! Steps run where all of them together take the least time: decisions with given rates, and measured rates.

mod support;

use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_opt::Fuse;
use numelt_runtime::{ArrayView, Config, Engine, EngineSet, Host, Input, Rates, Reason, Rule, Runtime, trusted};
use numelt_testing::far::{Far, FarOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{engine, numbers};

/// A host, and a device that computes ten times as fast, is slow at serial work, and is slow to copy to.
const HOST: Rates = Rates { launch: 1e3, byte: 0.1, work: 0.2, serial: 1.0, upload: 0.0, download: 0.0, latency: 0.0 };
const DEVICE: Rates =
    Rates { launch: 1e4, byte: 0.01, work: 0.02, serial: 50.0, upload: 0.3, download: 0.3, latency: 1e4 };

/// Elements of a large array of doubles.
const MANY: usize = 1 << 17;

fn runtime(options: FarOptions, config: Config) -> Runtime {
    let host: Arc<dyn Host> = Arc::new(engine(2, 0));
    let device: Arc<dyn Engine> = Arc::new(Far::new(Arc::new(engine(1, 0)), options));
    Runtime::new(EngineSet { host, devices: vec![device], rule: Rule::Cost }, config)
}

/// A runtime that uses the rates above and makes a step of each operation.
fn by_rates(options: FarOptions) -> Runtime {
    let rt = runtime(options, Config { fuse: Fuse::Singleton, ..Config::default() });
    rt.use_rates(&[HOST, DEVICE]);
    rt
}

fn array(rt: &Runtime, value: f64, n: usize) -> ArrayView {
    let bytes = value.to_le_bytes().repeat(n);
    let view = ArrayView::fresh(rt, DType::F64, &[n as i64]);
    ArrayView { base: rt.filled(&bytes).unwrap(), ..view }
}

fn first(rt: &Runtime, a: &ArrayView) -> f64 {
    numbers(rt.read(&a.base).unwrap().bytes())[0]
}

fn record(rt: &Runtime, op: Op, a: &ArrayView, more: &[Input<'_>], axes: Axes) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    rt.record(op, DType::F64, &out, &[&[Input::Array(a)], more].concat(), axes).unwrap();
    out
}

fn plus_one(rt: &Runtime, a: &ArrayView) -> ArrayView {
    record(rt, Op::Add, a, &[Input::Const(Scalar::F64(1.0))], Axes::default())
}

fn times(rt: &Runtime, n: usize, op: impl Fn(&Runtime, &ArrayView) -> ArrayView, a: &ArrayView) -> ArrayView {
    let out = (1..n).fold(op(rt, a), |a, _| op(rt, &a));
    rt.flush(Reason::Explicit).unwrap();
    out
}

#[test]
fn a_chain_of_large_steps_moves_once_and_stays() {
    let rt = by_rates(FarOptions::default());
    let a = array(&rt, 0.0, MANY);
    let b = times(&rt, 12, plus_one, &a);
    let stats = rt.stats();
    assert_eq!((stats.on_devices, stats.bytes_there, stats.bytes_back), (12, 8 * MANY as u64, 0));
    // a single step on an array that is there already stays there, although it alone would not be worth a move
    let c = times(&rt, 1, plus_one, &b);
    let stats = rt.stats();
    assert_eq!((stats.on_devices, stats.bytes_there, stats.bytes_back), (13, 8 * MANY as u64, 0));
    assert_eq!([first(&rt, &b), first(&rt, &c)], [12.0, 13.0]);
}

#[test]
fn cheap_work_on_what_is_on_the_host_stays_there() {
    let rt = by_rates(FarOptions::default());
    let large = times(&rt, 1, plus_one, &array(&rt, 1.0, MANY));
    let small = times(&rt, 12, plus_one, &array(&rt, 1.0, 100));
    let stats = rt.stats();
    assert_eq!((stats.on_devices, stats.bytes_there), (0, 0));
    assert_eq!([first(&rt, &large), first(&rt, &small)], [2.0, 13.0]);
}

#[test]
fn much_work_on_few_bytes_goes_to_the_device() {
    let rt = runtime(FarOptions::default(), Config::default());
    rt.use_rates(&[HOST, DEVICE]);
    let sine = |rt: &Runtime, a: &ArrayView| record(rt, Op::Sin, a, &[], Axes::default());
    let out = times(&rt, 12, sine, &array(&rt, 0.5, MANY));
    let stats = rt.stats();
    assert_eq!((stats.kernels, stats.on_devices), (1, 1));
    let host = (0..12).fold(0.5f64, |x, _| x.sin());
    assert!((first(&rt, &out) - host).abs() < 1e-14);
}

#[test]
fn serial_steps_run_on_the_host_and_the_others_go_on_where_they_were() {
    let rt = by_rates(FarOptions::default());
    let running = |rt: &Runtime, a: &ArrayView| record(rt, Op::Cumsum, a, &[], Axes::all(1));
    times(&rt, 1, running, &array(&rt, 1.0, MANY));
    assert_eq!(rt.stats().on_devices, 0);
    let a = times(&rt, 12, plus_one, &array(&rt, 1.0, MANY));
    let sums = times(&rt, 1, running, &a);
    let stats = rt.stats();
    assert_eq!((stats.on_devices, stats.bytes_back), (12, 8 * MANY as u64));
    assert_eq!(first(&rt, &sums), 13.0);
}

#[test]
fn what_others_see_counts_its_way_home() {
    let rt = by_rates(FarOptions::default());
    let a = times(&rt, 12, plus_one, &array(&rt, 1.0, MANY));
    let b = times(&rt, 1, plus_one, &a);
    assert_eq!(rt.stats().on_devices, 13);
    let export = rt.export(&b.base).unwrap();
    // in place: the array must be back before the flush returns, so the device would gain nothing
    rt.record(Op::Add, DType::F64, &b, &[Input::Array(&b), Input::Const(Scalar::F64(1.0))], Axes::default()).unwrap();
    rt.flush(Reason::Visible).unwrap();
    assert_eq!(rt.stats().on_devices, 13);
    // SAFETY: the export keeps the memory in place, and nothing is pending on it.
    assert_eq!(unsafe { export.ptr().cast::<f64>().read() }, 15.0);
}

#[test]
fn a_loop_moves_when_staying_has_cost_as_much() {
    let rt = by_rates(FarOptions::default());
    let b = (0..40).fold(array(&rt, 0.0, MANY), |a, _| times(&rt, 1, plus_one, &a));
    let stats = rt.stats();
    // the third run moves the array, and later runs find it there
    assert_eq!((stats.on_devices, stats.bytes_there, stats.bytes_back), (38, 8 * MANY as u64, 0));
    assert_eq!(first(&rt, &b), 40.0);
}

#[test]
fn a_loop_over_new_arrays_of_the_host_seldom_tries_to_move() {
    let rt = by_rates(FarOptions::default());
    for n in 0..40 {
        let b = times(&rt, 1, plus_one, &array(&rt, f64::from(n), MANY));
        assert_eq!(first(&rt, &b), f64::from(n + 1));
    }
    assert!((1..=4).contains(&rt.stats().on_devices), "{:?}", rt.stats());
}

#[test]
fn an_operation_without_elements_writes_what_is_on_a_device() {
    let rt = runtime(FarOptions::default(), Config { at_once: 0, ..Config::default() });
    rt.use_rates(&[HOST, DEVICE]);
    let sine = |rt: &Runtime, a: &ArrayView| record(rt, Op::Sin, a, &[], Axes::default());
    let a = times(&rt, 12, sine, &array(&rt, 0.0, MANY));
    assert_eq!((rt.stats().on_devices, rt.stats().bytes_back), (1, 0));
    let empty = ArrayView { base: array(&rt, 1.0, 1).base, ..ArrayView::fresh(&rt, DType::F64, &[0]) };
    let element = ArrayView { base: a.base.clone(), ..ArrayView::fresh(&rt, DType::F64, &[1]) };
    rt.record(Op::Prod, DType::F64, &element, &[Input::Array(&empty)], Axes::all(1)).unwrap();
    rt.flush(Reason::Explicit).unwrap();
    assert_eq!((rt.stats().piecemeal, first(&rt, &a)), (1, 1.0));
}

#[test]
fn what_a_device_has_no_room_for_is_tried_once() {
    let rt = by_rates(FarOptions { memory: Some(MANY * 8), ..FarOptions::default() });
    let a = array(&rt, 0.0, MANY);
    let b = times(&rt, 12, plus_one, &a);
    let declined = rt.stats().declined;
    assert!(declined > 0, "a step needs twice as much");
    let c = times(&rt, 12, plus_one, &a);
    assert_eq!((rt.stats().declined, rt.stats().on_devices), (declined, 0));
    assert_eq!([first(&rt, &b), first(&rt, &c)], [12.0; 2]);
}

/// A folder for the rates of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("numelt-placement-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(trusted::private_folder(&path, trusted::user()).unwrap())
    }

    /// The files and their contents, by name.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let Ok(entries) = std::fs::read_dir(self.0.join("rates")) else { return Vec::new() };
        let read = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).unwrap());
        let mut files: Vec<_> = entries.map(|entry| read(entry.unwrap().path())).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs enough work for the engines to be measured, or only little.
fn measures(cache: &Path, n: usize) {
    let rt = runtime(FarOptions::default(), Config { cache_dir: Some(cache.into()), ..Config::default() });
    let b = times(&rt, 2, plus_one, &array(&rt, 1.0, n));
    assert_eq!(first(&rt, &b), 3.0);
}

#[test]
fn rates_are_measured_when_there_is_something_to_move_and_kept() {
    let folder = Folder::new("kept");
    measures(&folder.0, 100);
    assert_eq!(folder.files(), []);
    measures(&folder.0, MANY);
    let kept = folder.files();
    let of = |name: &str| kept.iter().filter(|(_, text)| text.contains(&format!("engine = \"{name}\""))).count();
    assert_eq!((kept.len(), of("cpu"), of("far")), (2, 1, 1));
    measures(&folder.0, MANY);
    assert_eq!(folder.files(), kept, "the next process finds them");
    // a damaged file, or one of another machine: the engine is measured again, and the file is written again
    std::fs::write(&kept[0].0, "launch = 1").unwrap();
    std::fs::write(&kept[1].0, kept[1].1.replace("machine = \"", "machine = \"another, ")).unwrap();
    measures(&folder.0, MANY);
    let again = folder.files();
    let machines = |files: &[(PathBuf, String)]| -> Vec<String> {
        files
            .iter()
            .filter_map(|(_, text)| text.lines().find(|line| line.starts_with("machine")).map(Into::into))
            .collect()
    };
    assert_eq!(machines(&again), machines(&kept));
}

#[test]
fn folders_that_cannot_be_written_and_none_are_no_error() {
    measures(Path::new("/proc/none"), MANY);
    measures(Path::new(""), MANY);
}
