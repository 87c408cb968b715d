// Add what a batch has created and changed to its load, and store the time. Loads that have changed nothing are not part of the
// graph's state.
// $id, $created, $changed: [relations, entities, facts], $time -> no rows
MATCH (load:KgprobeLoad {id: $id})
SET load.created = [stage IN range(0, 2) | coalesce(load.created[stage], 0) + $created[stage]],
    load.changed = [stage IN range(0, 2) | coalesce(load.changed[stage], 0) + $changed[stage]],
    load.time = $time
