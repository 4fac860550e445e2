// Package jobspec is what a job of a fleet is asked for and stored with.
//
// There are two ways to ask, the command line and the API, and one document: seeds
// as they were written, and the settings that were asked for, by the keys of
// package config. Whoever runs the job reads it under its own settings.
//
// Reading promises the same answer to everybody: what the API cannot read, `headway
// job submit` cannot, with the same words. What a tenant may do is not asked here: the
// API refuses settings that only owned hosts may be treated with, where it does not
// know that they are the tenant's; whoever has the database may submit them, and
// workers treat strangers as strangers all the same.
package jobspec

import (
	"cmp"
	"encoding/json"
	"fmt"

	"headway/answer"
	"headway/fetch"
	"headway/internal/config"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// Spec is the document.
type Spec struct {
	Seeds    []string     `json:"seeds"`
	Settings config.Asked `json:"settings,omitempty"`
	DryRun   bool         `json:"dry_run,omitempty"` // read robots.txt and sitemaps, and fetch no page
}

// Read reads what a job was stored with.
func Read(text []byte) (Spec, error) {
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read job settings: %w", err)
	}
	return s, nil
}

// Request is a job that somebody asks for.
type Request struct {
	Spec
	Tenant string
	Name   string // for people; empty for the host of the first seed
}

// Job makes the job to store, under the settings that [config.LoadJob] read with
// those of the request.
func (r *Request) Job(set *config.Settings) (store.Job, error) {
	from, err := ReadSeeds(r.Seeds)
	if err != nil {
		return store.Job{}, err
	}
	if _, err := set.Policy(); err != nil {
		return store.Job{}, &Error{Err: err, Hint: "headway config shows every setting and where it was set"}
	}
	text, err := json.Marshal(r.Spec)
	if err != nil {
		return store.Job{}, err
	}
	name := r.Name
	if name == "" {
		name = from.URLs[0].Host()
	}
	j := store.Job{
		Tenant: r.Tenant, Name: name, State: job.Queued, Spec: text,
		// What the layers above allow is asked when it gets its place.
		MaxPages: set.Limits.Pages, Layers: []limit.Layer{{Level: limit.Job, Limits: set.Limits}},
	}
	asked, err := r.Asked(set, &j)
	if err == nil {
		err = asked.Check()
	}
	if err != nil {
		return store.Job{}, &Error{Err: err, Hint: "use a glob such as /blog/**, or re: followed by a regular expression; a scope host is a name such as example.com"}
	}
	return j, nil
}

// Asked is what the job was asked for as package answer explains it, under the
// settings that were read with those of the spec.
func (s *Spec) Asked(set *config.Settings, j *store.Job) (answer.CrawlSpec, error) {
	policy, err := set.Policy()
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	from, err := ReadSeeds(s.Seeds)
	if err != nil {
		return answer.CrawlSpec{}, err
	}
	who := Who(set)
	asked := answer.CrawlSpec{
		Scope: set.Scope, ScopeHosts: set.ScopeHosts, Include: set.Include, Exclude: set.Exclude, Files: set.Files, Preset: set.Preset, Sitemaps: set.Sitemaps,
		MaxWaiting: set.Frontier.MaxWaiting, UserAgent: who.UserAgent, Contact: who.Contact, Token: who.Token, Policy: policy, Owned: set.Owned, AllowPrivate: set.AllowPrivate,
	}
	asked.SetSeeds(from.URLs)
	asked.SetLimits(j.Limits())
	return asked, nil
}

// Who is behind the crawls of a server with these settings.
func Who(set *config.Settings) answer.Who {
	product, version := set.Product()
	product = cmp.Or(product, "headway") // as it calls itself unless told otherwise
	id := fetch.Identity{Product: product, Version: version, Contact: set.Contact}
	return answer.Who{UserAgent: id.UserAgent(), Contact: id.Contact, Token: product}
}

// Error is a request that makes no sense, with what to do about it.
type Error struct {
	Err  error
	Hint string
}

// Error says what is wrong.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }
