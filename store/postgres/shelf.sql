-- A shelf is the tables that hold the URLs of jobs; {s} stands for its number.
-- Shelf 0 is shared by small jobs, a large job has one of its own, which is
-- dropped with the job. A change of this file needs a migration that changes the
-- shelves there are. {key} begins with the job where there are several.

-- Every URL ever seen: one row per URL and run. id grows with age, rank is the
-- place in the queue. via is the page that named the URL: a path on the same
-- host, or a whole address.
create table url_{s} (
    id       bigint not null,
    host     bigint not null,
    seen_at  bigint not null,
    fp       uuid not null,
    job      integer not null,
    rank     integer not null,
    depth    integer not null,
    priority integer not null,
    slot     smallint not null,
    hops     smallint not null,
    found    smallint not null check (found between 0 and 4),
    path     text not null,
    via      text not null,
    extra    text,
    primary key ({key})
) partition by hash (slot);

-- What waits, in the order of each host's queue.
create table queue_{s} (
    id         bigint not null,
    host       bigint not null,
    not_before bigint not null,
    fp         uuid not null,
    job        integer not null,
    rank       integer not null,
    attempt    integer not null,
    slot       smallint not null,
    primary key (host, job, rank, id, slot)
) partition by hash (slot);

-- How URLs ended: words of table ending.
create table outcome_{s} (
    id       bigint not null,
    host     bigint not null,
    ended_at bigint not null,
    fp       uuid not null,
    job      integer not null,
    attempt  integer not null,
    slot     smallint not null,
    ending   smallint not null check (ending between 1 and 8 or ending between 20 and 35 or ending between 60 and 71),
    status   smallint,
    visit    text,
    primary key (id, slot)
) partition by hash (slot);

-- All endings but fetched, of which there are too many for an index to be worth
-- its room.
create index outcome_{s}_ending on outcome_{s} (job, ending, id) where ending > 1;

-- Attempts that did not end their URL.
create table attempt_{s} (
    url   bigint not null,
    n     integer not null,
    job   integer not null,
    visit text not null,
    primary key (url, n)
);

-- URLs out of scope, by the slot they were found in. Beyond a bound only the
-- host is kept of them.
create table aside_{s} (
    fp   uuid not null,
    job  integer not null,
    slot smallint not null,
    url  text not null,
    primary key (job, slot, fp)
);

-- Not used: what jobs know of hosts was never stored. It stays because earlier
-- versions of the program read it.
create table tenure_{s} (
    host  bigint not null,
    job   integer not null,
    state bytea not null,
    primary key (job, host)
);

-- Sitemaps that jobs are to read, and have read. id grows with age.
create table errand_{s} (
    id     bigint not null,
    host   bigint not null,
    fp     uuid not null,
    job    integer not null,
    nested smallint not null,
    ended  boolean not null default false,
    path   text not null,
    primary key (job, host, fp)
);

create index errand_{s}_waiting on errand_{s} (host, job, id) where not ended;

-- For people with a SQL tool.
create view urls_{s} as
select u.job, h.name || u.path as url, h.name as host, coalesce(e.outcome, 'pending') as outcome, coalesce(e.reason, '') as reason, o.status,
    u.depth, case when u.via like '/%' then h.name || u.via else u.via end as found_on,
    case u.found when 1 then 'seed' when 2 then 'link' when 3 then 'sitemap' when 4 then 'redirect' end as found_by,
    coalesce(o.attempt, 0) as attempts, to_timestamp(u.seen_at / 1000.0) as seen_at, to_timestamp(o.ended_at / 1000.0) as ended_at, o.visit
from url_{s} u join host h on h.id = u.host left join outcome_{s} o on o.id = u.id and o.slot = u.slot left join ending e on e.id = o.ending;
