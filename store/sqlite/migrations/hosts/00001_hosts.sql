-- +goose Up

-- Processes that crawl, each with a lock that dies with it.
create table process (
    id         integer primary key autoincrement,
    name       text not null,
    started_at int not null
) strict;

-- Who owns a domain. Rows of domains nobody owns are kept for their fence.
create table domain (
    domain text primary key,
    owner  int,
    fence  int not null
) without rowid, strict;

create index domain_owner on domain (owner) where owner is not null;

-- Who waits for a domain, in the order they asked.
create table request (
    id       integer primary key autoincrement,
    domain   text not null,
    process  int not null,
    asked_at int not null,
    unique (domain, process)
) strict;

-- What was learned of hosts, by all crawls.
create table host (
    host       text primary key,
    domain     text not null,
    pace_ms    int not null,
    floor_ms   int not null,
    hold_until int not null,
    last_sent  int not null,
    politeness blob not null,
    robots     blob not null,
    changed_at int not null
) strict;

create index host_domain on host (domain);
create index host_changed on host (changed_at);
