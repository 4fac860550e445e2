-- +goose Up

-- The objects of the archive that visits reference. An object without a row is deleted when it
-- is a day old.
create table segment (
    key   text collate "C" primary key,
    job   integer not null,
    bytes bigint not null
);

create index segment_job on segment (job);
