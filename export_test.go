package headway

import "headway/internal/engine"

// Sites is how many hosts are in memory after the crawl has ended.
func (c *Crawl) Sites() int { return c.engine.Sites() }

// MaxLinksBehind is how many links may wait for their commit.
const MaxLinksBehind = engine.MaxLinksBehind
