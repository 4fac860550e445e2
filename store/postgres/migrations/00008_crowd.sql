-- +goose Up

-- How many hosts on an address a worker is busy with. It is said anew with every
-- renewal, so nothing is lost with it.
create unlogged table crowd (
    worker  bigint not null references worker on delete cascade,
    address inet not null,
    hosts   integer not null,
    primary key (address, worker)
) with (fillfactor = 50);

create index crowd_worker on crowd (worker);
