-- +goose Up

-- Words of the closed sets. The numbers are stored with every URL that ended
-- and never change their meaning. 1, fetched, is by far the most frequent.
create table ending (
    id      integer primary key,
    outcome text not null,
    reason  text not null,
    unique (outcome, reason)
) strict;

insert into ending (id, outcome, reason) values
    (1, 'fetched', ''), (2, 'not_modified', ''), (3, 'redirected', ''), (4, 'dead', ''), (5, 'server_error', ''),
    (6, 'throttled', ''), (7, 'blocked', ''), (8, 'deferred', ''),
    (20, 'skipped', 'robots_disallow'), (21, 'skipped', 'robots_unreachable'), (22, 'skipped', 'crawl_delay_too_long'),
    (23, 'skipped', 'out_of_scope'), (24, 'skipped', 'excluded'), (25, 'skipped', 'duplicate_content'), (26, 'skipped', 'depth'),
    (27, 'skipped', 'trap_path'), (28, 'skipped', 'trap_query'), (29, 'skipped', 'non_document'), (30, 'skipped', 'nofollow'),
    (31, 'skipped', 'private_address'), (32, 'skipped', 'bad_port'), (33, 'skipped', 'budget_bytes'), (34, 'skipped', 'budget_host'),
    (35, 'skipped', 'opted_out'),
    (60, 'failed', 'dns'), (61, 'failed', 'connect'), (62, 'failed', 'tls'), (63, 'failed', 'timeout'), (64, 'failed', 'too_large'),
    (65, 'failed', 'truncated'), (66, 'failed', 'bad_encoding'), (67, 'failed', 'protocol'), (68, 'failed', 'parse'),
    (69, 'failed', 'redirect_loop'), (70, 'failed', 'host_parked'), (71, 'failed', 'quarantined');

-- One row: the secret behind the fingerprints, and the largest number that was
-- given to a worker.
create table identity (
    id          integer primary key check (id = 1),
    key         blob not null check (length(key) = 16),
    created_at  int not null,
    last_worker int not null
) strict;

-- Who owns a slot. Fences only grow; an owner that is still there when the file
-- is opened did not end cleanly.
create table slot (
    id      integer primary key check (id between 0 and 1023),
    owner   int not null,
    fence   int not null,
    unclean int not null
) strict;

create table job (
    id         integer primary key autoincrement,
    tenant     text not null,
    name       text not null,
    state      text not null check (state in ('queued', 'running', 'paused', 'draining', 'complete', 'partial', 'blocked', 'cancelled', 'failed')),
    reason     text not null,
    max_pages  int not null check (max_pages >= 0),
    spec       text not null,
    created_at int not null,
    started_at int,
    ended_at   int
) strict;

-- How many URLs of a job stand how: by ending, 0 for those that wait, -1 for
-- how often a URL was put to waiting.
create table tally (
    job    int not null,
    ending int not null,
    n      int not null check (n >= 0),
    primary key (job, ending)
) without rowid, strict;

-- rest is when a host that is not in memory will be ready.
create table host (
    id         integer primary key,
    host       text not null unique,
    slot       int not null,
    rest       int not null default 0,
    pace_ms    int,
    floor_ms   int,
    hold_until int,
    last_sent  int,
    politeness blob,
    robots     blob
) strict;

create index host_rest on host (rest, id);

create table pace_change (
    id      integer primary key,
    host    int not null,
    at      int not null,
    from_ms int not null,
    to_ms   int not null,
    cause   text not null
) strict;

create index pace_change_host on pace_change (host, id);

create table robots (
    id         integer primary key,
    sum        blob not null unique,
    fetched_at int not null,
    body       blob not null
) strict;

-- Facts behind decisions, each stored once however many URLs rest on it.
create table evidence (
    id   integer primary key,
    fact text not null unique
) strict;

create table point (
    job  int not null,
    at   int not null,
    span int not null,
    data text not null,
    primary key (job, at)
) without rowid, strict;

-- Queues that got URLs from somebody who does not own them.
create table arrival (
    host int not null,
    job  int not null,
    primary key (host, job)
) without rowid, strict;
