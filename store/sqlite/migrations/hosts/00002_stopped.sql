-- +goose Up

-- Which process it is and where it crawls, for people.
alter table process add column pid int not null default 0;
alter table process add column dir text not null default '';

-- Domains that were taken from a process that had stopped, until it owns them
-- again, and whether it was told.
create table loss (
    process int not null,
    domain  text not null,
    told    int not null,
    primary key (process, domain)
) without rowid, strict;
