-- +goose Up

-- The links of pages, compressed, and the index of links to a URL. These are the tables of
-- shelf 0, which small jobs share; a large job gets its own with its first links.
create table link_0 (
    url   bigint primary key,
    page  text not null,
    links bytea not null
);

alter table link_0 alter column links set storage external;

create table inlink_0 (
    job    int not null,
    bucket smallint not null,
    pages  bytea not null
);

alter table inlink_0 alter column pages set storage external;

create index inlink_0_bucket on inlink_0 (job, bucket);
