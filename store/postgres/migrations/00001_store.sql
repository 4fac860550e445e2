-- +goose Up

-- Words of the closed sets. The numbers are stored with every URL that ended
-- and never change their meaning. 1, fetched, is by far the most frequent.
create table ending (
    id      smallint primary key,
    outcome text not null,
    reason  text not null,
    unique (outcome, reason)
);

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

-- One row: the secret behind the fingerprints.
create table identity (
    id  smallint primary key check (id = 1),
    key bytea not null check (length(key) = 16)
);

-- One number for each change; with the place in the list of found URLs it makes
-- the number of a URL, which so goes by age.
create sequence batch;

-- Processes that own slots. The heartbeat is a counter and is compared by
-- others with what they saw before, by their own time.
create table worker (
    id        bigint generated always as identity primary key,
    name      text not null,
    joined_at bigint not null,
    heartbeat bigint not null default 0
) with (fillfactor = 50);

-- The number of a worker's last commit. A commit updates the row, the end of a
-- worker deletes it, a release locks it: so none of them overlap. It stands
-- apart from the heartbeat, which must not wait for a commit.
create table progress (
    worker  bigint primary key,
    commits bigint not null default 0
) with (fillfactor = 50);

-- Who owns a slot; 0 is nobody. Fences only grow.
create table slot (
    id      smallint primary key check (id between 0 and 1023),
    owner   bigint not null default 0,
    fence   bigint not null default 0,
    unclean boolean not null default false
) with (fillfactor = 50);

insert into slot (id) select generate_series(0, 1023);

create table job (
    id         integer generated always as identity primary key,
    shelf      integer not null,
    tenant     text not null,
    name       text not null,
    state      text not null check (state in ('queued', 'running', 'paused', 'draining', 'complete', 'partial', 'blocked', 'cancelled', 'failed')),
    reason     text not null,
    max_pages  bigint not null check (max_pages >= 0),
    spec       bytea not null,
    created_at bigint not null,
    started_at bigint,
    ended_at   bigint
);

-- Page tokens of jobs with a limit: those nobody holds, and those workers hold.
create table account (
    job  integer primary key,
    free bigint not null check (free >= 0)
) with (fillfactor = 50);

create table token (
    worker bigint not null,
    job    integer not null,
    n      bigint not null check (n >= 0),
    primary key (worker, job)
) with (fillfactor = 50);

create index token_job on token (job);

-- How many URLs of a job stand how: by ending, 0 for those that wait, -1 for
-- how often a URL was put to waiting. The sum over the shards counts; a worker
-- always writes to the same one, so workers do not wait for each other.
create table tally (
    job    integer not null,
    shard  smallint not null,
    ending smallint not null,
    n      bigint not null,
    primary key (job, shard, ending)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- rest is when a host that is not in memory will be ready. A commit rewrites the
-- row without touching an index, in the room that the fill factor leaves.
create table host (
    id         bigint generated always as identity primary key,
    rest       bigint not null default 0,
    hold_until bigint,
    last_sent  bigint,
    pace_ms    bigint,
    floor_ms   bigint,
    slot       smallint not null,
    name       text not null unique,
    politeness bytea,
    robots     bytea
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 1);

create index host_rest on host (rest, id);

create table pace_change (
    id      bigint generated always as identity primary key,
    host    bigint not null,
    at      bigint not null,
    from_ms bigint not null,
    to_ms   bigint not null,
    cause   text not null
);

create index pace_change_host on pace_change (host, id);

create table robots (
    sum        bytea primary key check (length(sum) = 32),
    fetched_at bigint not null,
    body       bytea not null
);

-- Facts behind decisions, each stored once under its digest however many URLs
-- rest on it.
create table evidence (
    id   uuid primary key,
    fact text not null
);

create table point (
    job  integer not null,
    at   bigint not null,
    span bigint not null,
    data text not null,
    primary key (job, at)
);

-- Queues that got URLs from somebody who does not own them.
create table arrival (
    slot smallint not null,
    host bigint not null,
    job  integer not null,
    primary key (slot, host, job)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Sets of tables that hold the URLs of jobs; see shelf.sql.
create table shelf (
    id integer primary key
);
