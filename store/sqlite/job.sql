-- The tables of one job; {j} stands for its number. Dropping them forgets a
-- job of any size at once. A change of this file needs a migration that changes
-- the tables of the jobs there are.

-- Which URLs the run has seen: the unique key, clustered by host. rank is the
-- place in the queue, null for a URL that never waited; skip marks a
-- provisional skip.
create table seen_{j} (
    host int not null,
    fp   blob not null check (length(fp) = 16),
    id   int not null,
    rank int,
    skip int,
    primary key (host, fp)
) without rowid, strict;

-- What does not change: by age. via is the id of the page that named the URL,
-- or its address where that is no URL of the run.
create table url_{j} (
    id       integer primary key,
    host     int not null,
    path     text not null,
    via      any,
    found    int not null check (found between 1 and 4),
    depth    int not null,
    hops     int not null,
    priority int not null,
    seen_at  int not null,
    extra    text
) strict;

-- What waits, in the order of each host's queue.
create table queue_{j} (
    host       int not null,
    rank       int not null,
    id         int not null,
    attempt    int not null,
    not_before int not null,
    primary key (host, rank, id)
) without rowid, strict;

-- How URLs ended.
create table outcome_{j} (
    id       integer primary key,
    ending   int not null check (ending between 1 and 99),
    ended_at int not null,
    attempt  int not null,
    status   int,
    visit    text
) strict;

create index outcome_{j}_ending on outcome_{j} (ending, id) where ending > 1;

-- Attempts that did not end their URL.
create table attempt_{j} (
    url   int not null,
    n     integer not null,
    visit text not null,
    primary key (url, n)
) without rowid, strict;

-- URLs out of scope, by the slot they were found in. Beyond a bound only the
-- host is kept of them.
create table aside_{j} (
    slot int not null,
    fp   blob not null,
    url  text not null,
    primary key (slot, fp)
) without rowid, strict;

-- Not used: what the job knows of hosts was never stored. It stays because
-- earlier versions of the program read it.
create table tenure_{j} (
    host  integer primary key,
    state blob not null
) strict;
