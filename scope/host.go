package scope

import (
	"slices"
	"strings"

	"headway/weburl"
)

// place is the part of a host that is in scope.
type place struct {
	www     bool     // the host with www is included
	folders []string // sorted, none below another; nil means the whole host
}

// A whole host, alone and with its www; shared, since a crawl may have millions of
// seeds.
var (
	alone = &place{}
	twins = &place{www: true}
)

const www = "www."

// hostKey identifies u's host without scheme, and without a default port of either scheme.
func hostKey(u weburl.URL) string {
	host := u.Host()
	name := host[strings.IndexByte(host, '/')+1:]
	if name == "" {
		return ""
	}
	name = name[1:] // the second slash
	name = strings.TrimSuffix(name, ":443")
	return strings.TrimSuffix(name, ":80")
}

// seeded returns what the seeds put in scope of a host, or nil.
func (r *Rules) seeded(key string) *place {
	if p := r.places[key]; p != nil {
		return p
	}
	if bare, ok := strings.CutPrefix(key, www); ok {
		if p := r.places[bare]; p != nil && p.www {
			return p
		}
	}
	return nil
}

// hosts reports whether the host of u, and in mode Prefix its folder, is in scope.
func (r *Rules) hosts(u weburl.URL) bool {
	if u.IsZero() {
		return false
	}
	if r.mode == Any {
		return true
	}
	key := hostKey(u)
	if p := r.seeded(key); p != nil && p.has(u.Path()) {
		return true
	}
	if r.mode == Domain {
		if _, ok := r.domains[u.Domain()]; ok {
			return true
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	p := r.added[key]
	return p != nil && p.has(u.Path())
}

// has reports whether a path is in the place.
func (p *place) has(path string) bool {
	if p.folders == nil {
		return true
	}
	// No folder is below another, so the only candidate is the last one that does
	// not sort after the path.
	i, found := slices.BinarySearch(p.folders, path)
	return found || i > 0 && strings.HasPrefix(path, p.folders[i-1])
}

// settle sorts the folders and drops those below others.
func (p *place) settle() {
	if p.folders == nil {
		return
	}
	slices.Sort(p.folders)
	kept := p.folders[:1]
	for _, f := range p.folders[1:] {
		if !strings.HasPrefix(f, kept[len(kept)-1]) {
			kept = append(kept, f)
		}
	}
	p.folders = slices.Clip(kept)
}

// addSeed puts the host of a seed in scope, according to the mode.
func (r *Rules) addSeed(seed weburl.URL) {
	key, paired := hostKey(seed), false
	switch r.mode {
	case Any:
		return
	case Domain:
		if r.domains == nil {
			r.domains = map[string]struct{}{}
		}
		r.domains[strings.Clone(seed.Domain())] = struct{}{}
	case Host, Prefix:
		if paired = wwwHasSameOwner(seed); paired {
			key = strings.TrimPrefix(key, www)
		}
	}
	folder := ""
	if r.mode == Prefix {
		folder = folderOf(seed.Path())
	}
	put(r.places, key, paired, folder)
}

// folderOf returns a path up to its last slash.
func folderOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// put adds a host, or with a folder that part of it. paired depends only on the key. Keys
// and folders are cloned, so that the URL is not kept in memory.
func put(places map[string]*place, key string, paired bool, folder string) {
	old := places[key]
	switch {
	case old != nil && old.folders == nil:
		// The whole host is already included.
	case folder == "" || folder == "/":
		p := alone
		if paired {
			p = twins
		}
		places[strings.Clone(key)] = p
	case old != nil:
		old.folders = append(old.folders, strings.Clone(folder))
	default:
		places[strings.Clone(key)] = &place{www: paired, folders: []string{strings.Clone(folder)}}
	}
}

// wwwHasSameOwner reports whether u's host with and without www have the same owner, according to
// the public suffix list.
func wwwHasSameOwner(u weburl.URL) bool {
	name := u.Hostname()
	if strings.HasPrefix(name, www) {
		return u.Domain() != name
	}
	other, err := weburl.Parse("http://" + www + name + "/")
	return err == nil && other.Domain() == u.Domain()
}

// HostError reports an invalid entry of Config.Hosts.
type HostError struct {
	Entry   string
	Problem string
	hint    string
}

// Error names the entry and says what is wrong with it.
func (e *HostError) Error() string { return "invalid host " + quote(e.Entry) + ": " + e.Problem }

// Hint says what to do about it.
func (e *HostError) Hint() string { return e.hint }

// addEntry reads an entry of Config.Hosts.
func (r *Rules) addEntry(entry string) error {
	raw := entry
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := weburl.Parse(raw)
	if err != nil {
		return &HostError{entry, err.Error(), "use a host such as example.com or example.com:8080"}
	}
	folder := u.PathQuery()
	if folder != "/" && r.mode != Prefix {
		return &HostError{entry, "it has a path", "remove the path, or use --scope prefix"}
	}
	if !strings.HasSuffix(folder, "/") || u.Query() != "" {
		return &HostError{entry, "the path must end in a slash", "use the form example.com/docs/"}
	}
	put(r.added, hostKey(u), false, folder)
	return nil
}

// Widen is called for a redirect of a seed, or of a seed's redirect target, and adds the
// host of the target if it is in the same domain: a crawl of example.com that redirects to
// www2.example.com would otherwise be one page. It reports whether something was added,
// which is then in [Rules.Hosts] and must be stored for a resumed crawl. Modes Domain and
// Any have nothing to add, mode List is literal, and at most [MaxAdded] hosts are added.
func (r *Rules) Widen(from, to weburl.URL) bool {
	if r.mode != Host && r.mode != Prefix || !r.hosts(from) || r.hosts(to) || to.Domain() != from.Domain() {
		return false
	}
	folder := "/"
	if r.mode == Prefix {
		folder = folderOf(to.Path())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.addedCount >= MaxAdded {
		return false
	}
	r.addedCount++
	put(r.added, hostKey(to), false, folder)
	r.added[hostKey(to)].settle()
	return true
}

// Hosts lists, sorted, what is in scope in addition to mode and seeds: Config.Hosts and
// what Widen added. As Config.Hosts of the same Config it gives the same Rules.
func (r *Rules) Hosts() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var list []string
	for key, p := range r.added {
		if p.folders == nil {
			list = append(list, key)
		}
		for _, folder := range p.folders {
			list = append(list, key+folder)
		}
	}
	slices.Sort(list)
	return list
}
