-- +goose Up

-- How URLs out of scope were found, as far as that is kept: a wider scope takes them in.
create table aside_item (
    job  int not null,
    slot int not null,
    fp   blob not null,
    item text not null,
    primary key (job, slot, fp)
) without rowid, strict;
