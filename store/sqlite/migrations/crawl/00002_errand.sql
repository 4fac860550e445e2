-- +goose Up

-- Sitemaps that jobs are to read, and have read: by age.
create table errand (
    id     integer primary key,
    job    int not null,
    host   int not null,
    path   text not null,
    nested int not null,
    ended  int not null default 0,
    unique (job, host, path)
) strict;

create index errand_waiting on errand (job, host, id) where ended = 0;
