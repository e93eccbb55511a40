//! The plans of a library that were used last.

/// The most plans that are kept. Each may hold memory of the device.
const MOST: usize = 8;

/// Plans with what they are for, the one used last at the end.
pub struct Recent<K, P>(Vec<(K, P)>);

impl<K, P> Default for Recent<K, P> {
    fn default() -> Recent<K, P> {
        Recent(Vec::new())
    }
}

impl<K: PartialEq, P> Recent<K, P> {
    /// The plan for `key`, which `make` makes if there is none.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get<E>(&mut self, key: K, make: impl FnOnce(&K) -> Result<P, E>) -> Result<&mut P, E> {
        let entry = match self.0.iter().position(|(known, _)| *known == key) {
            Some(at) => self.0.remove(at),
            None => {
                let plan = make(&key)?;
                if self.0.len() == MOST {
                    self.0.remove(0);
                }
                (key, plan)
            }
        };
        self.0.push(entry);
        let last = self.0.len() - 1;
        Ok(&mut self.0[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_that_was_used_longest_ago_is_dropped() {
        let mut plans = Recent::default();
        let made = std::cell::Cell::new(0);
        let mut use_plan = |key: usize| {
            let make = |key: &usize| {
                made.set(made.get() + 1);
                Ok::<usize, ()>(*key)
            };
            assert_eq!(plans.get(key, make), Ok(&mut key.clone()));
            made.get()
        };
        for key in 0..MOST {
            assert_eq!(use_plan(key), key + 1);
        }
        assert_eq!(use_plan(0), MOST); // kept, and the latest now
        assert_eq!(use_plan(MOST), MOST + 1); // in the place of number 1
        assert_eq!(use_plan(0), MOST + 1);
        assert_eq!(use_plan(1), MOST + 2);
        assert_eq!(plans.get(77, |_| Err("no plan")), Err("no plan"));
    }
}
