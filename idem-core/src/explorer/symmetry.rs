//! Callers are interchangeable: states that differ only in who is called what are one state.

use super::world::{CALLERS, State, Try, World};

/// How many places outside the callers can name a try.
const NAMES: usize = 6;

impl World {
    /// The same state with its callers in a fixed order, and where each of them stood before. Callers
    /// differ by nothing but what is compared here, so two states that become equal are one state but
    /// for the callers' names.
    pub(super) fn canonical(&self) -> (Self, [u8; CALLERS]) {
        // Everything that distinguishes a caller: its own state, and where the rest of the world names
        // it.
        let mut names = [None; NAMES];
        for (place, name) in { *self }.names_mut().enumerate() {
            names[place] = Some(*name);
        }
        let named = |index: u8| {
            names.map(|name: Option<Try>| Some(name.filter(|name| name.caller == index)?.serial))
        };
        let caller = |index: u8| &self.callers[usize::from(index)];
        let mut order: [u8; CALLERS] = std::array::from_fn(|index| index as u8);
        order.sort_unstable_by(|&one, &other| {
            let compared = caller(one).cmp(caller(other));
            compared.then_with(|| named(one).cmp(&named(other)))
        });
        if order.is_sorted() {
            return (*self, order);
        }
        let mut new_name = [0; CALLERS];
        for (new, &old) in order.iter().enumerate() {
            new_name[old as usize] = new as u8;
        }
        let mut world = *self;
        for (new, &old) in order.iter().enumerate() {
            world.callers[new] = self.callers[old as usize];
        }
        world.rename(&new_name);
        (world, order)
    }

    /// Gives every caller that is named outside the callers its new name.
    pub(super) fn rename(&mut self, new_name: &[u8; CALLERS]) {
        for name in self.names_mut() {
            if let Some(new) = new_name.get(name.caller as usize) {
                name.caller = *new;
            }
        }
    }

    /// Every place outside the callers that can name a try. A place that names nobody is skipped, which
    /// does not depend on how callers are called.
    fn names_mut(&mut self) -> impl Iterator<Item = &mut Try> {
        let (holder, answer) = match &mut self.record {
            Some(record) => {
                let answer = match &mut record.state {
                    State::Completed(answer) => Some(answer),
                    State::InFlight { .. } => None,
                };
                (Some(&mut record.holder.by), answer)
            }
            None => (None, None),
        };
        [
            holder,
            answer,
            self.operator.shown.as_mut().map(|held| &mut held.by),
            self.ghosts.holder.as_mut().map(|held| &mut held.by),
            self.ghosts.recorded.as_mut(),
            self.ghosts.unsettled.as_mut(),
        ]
        .into_iter()
        .flatten()
    }
}
