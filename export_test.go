package headway

// Sites is of how many hosts something is kept in memory. It may be called once
// the crawl has ended.
func (x *Crawl) Sites() int { return len(x.c.sites) }

// MaxLinksBehind is how many links may wait for their commit.
const MaxLinksBehind = maxLinksBehind
