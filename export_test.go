package headway

import "headway/internal/engine"

// Sites is of how many hosts something is kept in memory. It may be called once
// the crawl has ended.
func (c *Crawl) Sites() int { return c.engine.Sites() }

// MaxLinksBehind is how many links may wait for their commit.
const MaxLinksBehind = engine.MaxLinksBehind
