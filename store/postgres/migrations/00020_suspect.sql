-- +goose Up

-- When an owner of the slot was last declared dead.
alter table slot add column died_at bigint;

-- URLs that are watched by a worker, and those that were when a worker died: the worker
-- is then 0. There are as many as requests in flight in slots of workers that died, and
-- none otherwise.
create table suspect (
    job    integer not null,
    fp     uuid not null,
    slot   smallint not null,
    deaths smallint not null,
    worker bigint not null,
    url    text not null,
    primary key (job, fp)
) with (fillfactor = 50);
