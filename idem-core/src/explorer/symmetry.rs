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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::model::Model;
    use super::super::rules::SHIPPED;
    use super::super::tests::{ONE_HOLDS, OPERATOR, late_copies};
    use super::*;
    use crate::explorer::world::Phase;

    /// The first states of a search, found without any notion of symmetry.
    fn first_states(model: &Model, most: usize) -> Vec<World> {
        let mut seen = HashSet::from([model.start()]);
        let mut states = vec![model.start()];
        let mut found = Vec::new();
        let mut at = 0;
        while states.len() < most {
            model.successors(&states[at], &mut found);
            for world in found.drain(..).map(|successor| successor.world.unwrap()) {
                if seen.insert(world) {
                    states.push(world);
                }
            }
            at += 1;
        }
        states
    }

    #[test]
    fn what_callers_are_called_makes_no_difference() {
        let model = Model::new(late_copies(OPERATOR), SHIPPED);
        for world in first_states(&model, 5_000) {
            let (canonical, _) = world.canonical();
            for names in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                assert_eq!(world.named(&names).canonical().0, canonical, "{world}");
            }
        }
    }

    #[test]
    fn a_canonical_state_has_the_same_successors() {
        let model = Model::new(ONE_HOLDS, SHIPPED);
        let successors = |world: &World| {
            let mut found = Vec::new();
            model.successors(world, &mut found);
            let canonical = |world: World| world.canonical().0;
            let worlds = found.into_iter().map(|next| canonical(next.world.unwrap()));
            worlds.collect::<HashSet<_>>()
        };
        for world in first_states(&model, 2_000) {
            assert_eq!(
                successors(&world),
                successors(&world.canonical().0),
                "{world}"
            );
        }
    }

    #[test]
    fn records_are_stored_and_read_back() {
        let model = Model::new(ONE_HOLDS, SHIPPED);
        for record in first_states(&model, 5_000)
            .iter()
            .filter_map(|world| world.record)
        {
            assert_eq!(model.kept(&model.stored(&record)), record);
        }
    }

    /// Otherwise a search could succeed because nothing happens in it.
    #[test]
    fn three_attempts_and_every_phase_are_reached() {
        let model = Model::new(ONE_HOLDS, SHIPPED);
        let states = first_states(&model, 60_000);
        let attempts = states
            .iter()
            .filter_map(|world| Some(world.record?.holder.attempt));
        assert!(attempts.max() >= Some(3));
        let in_phase = |found: fn(Phase) -> bool| {
            let mut callers = states.iter().flat_map(|world| world.callers);
            assert!(callers.any(|caller| found(caller.phase)));
        };
        in_phase(|phase| phase == Phase::Granted);
        in_phase(|phase| phase == Phase::Starting);
        in_phase(|phase| phase == Phase::Renewed);
        in_phase(|phase| phase == Phase::Running);
        in_phase(|phase| matches!(phase, Phase::Closing(_)));
        in_phase(|phase| matches!(phase, Phase::ReservingAgain { .. }));
        in_phase(|phase| matches!(phase, Phase::Undoing { .. }));
        in_phase(|phase| matches!(phase, Phase::GivingBack(_)));
        in_phase(|phase| phase == Phase::RenewingLater);
        in_phase(|phase| phase == Phase::CompletingLater);
    }
}
