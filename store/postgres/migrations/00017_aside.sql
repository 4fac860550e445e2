-- +goose Up

-- How URLs out of scope were found, as far as that is kept: a wider scope takes them in.
create table aside_item (
    fp   uuid not null,
    job  integer not null,
    slot smallint not null,
    item text not null,
    primary key (job, slot, fp)
);
