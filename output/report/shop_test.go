package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"headway/answer"
	"headway/ask"
	"headway/job"
	"headway/store"
	"headway/visit"
)

// shop is a typical crawl, always the same: three hosts of a shop, one of which refused
// requests, over forty minutes in two runs.
func shop() *crawl {
	c := &crawl{}
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // the same each time
	hosts := []string{"https://shop.example", "https://docs.shop.example", "https://blog.shop.example"}
	words := []string{"winter", "boots", "jacket", "returns", "delivery", "sizes", "wool", "gift", "outlet", "repair", "care", "summer"}
	word := func() string { return words[random.IntN(len(words))] }
	for i := range 2600 {
		host := hosts[min(random.IntN(6), 5)*len(hosts)/6]
		at := fmt.Sprintf("%s/%s/%s-%s-%d", host, word(), word(), word(), i)
		if i == 40 {
			at += "?" + "filter=colour-blue-and-green-and-size-42-to-46-and-price-between-40-and-120&sort=newest-arrivals-first&campaign=autumn-clearance-with-free-returns-and-delivery"
		}
		sent := begin.Add(time.Duration(i) * 920 * time.Millisecond)
		first := time.Duration(40*math.Exp(random.NormFloat64()*0.6)) * time.Millisecond
		common := func(v *visit.Visit) {
			v.Item.Via = mustURL(fmt.Sprintf("%s/%s/", host, word()))
			v.Page.Title, v.Page.Digest = fmt.Sprintf("%s for %s, number %d | Shop", word(), word(), i), fmt.Sprint(i)
			v.Timing = visit.Timing{Sent: sent, FirstByte: first, Total: first * 3 / 2}
			v.Answer.DecodedBytes = int64(8000 + random.IntN(60_000))
		}
		status := func(code int) func(*visit.Visit) { return func(v *visit.Visit) { v.Answer.Status = code } }
		switch n := random.IntN(1000); {
		case n < 12:
			c.add(at, visit.Dead, "", common, status([]int{404, 404, 410}[n%3]))
		case n < 60:
			c.add(at, visit.Redirected, "", common, status([]int{301, 302, 308}[n%3]), func(v *visit.Visit) { v.Answer.Location = c.entries[random.IntN(len(c.entries))].Item.URL })
		case n < 68:
			c.add(at, visit.Throttled, "", common, status(429), func(v *visit.Visit) { v.Item.Attempt = 5 })
		case n < 73:
			c.add(at, visit.Blocked, "", common, status(403), func(v *visit.Visit) { v.Detail = "challenge page of a firewall" })
		case n < 80:
			c.add(at, visit.Failed, visit.Timeout, common, status(0), func(v *visit.Visit) { v.Detail = "no answer within a minute" })
		case n < 84:
			c.add(at, visit.ServerError, "", common, status(500))
		case n < 200:
			reason := []visit.Reason{visit.RobotsDisallow, visit.RobotsDisallow, visit.OutOfScope, visit.TrapQuery, visit.Nofollow}[n%5]
			c.add(fmt.Sprintf("%s/%s/%d?sort=%s", host, []string{"cart", "search", "account"}[n%3], i, word()), visit.Skipped, reason)
		case n < 212:
			c.add(at, visit.Fetched, "", common, func(v *visit.Visit) { v.Page.Digest, v.Page.Title = "the same text", "Sold out | Shop" })
		case n < 218:
			c.add(at, visit.Fetched, "", common, func(v *visit.Visit) { v.Page.Title = "" })
		case n < 230:
			c.add(at, visit.Fetched, "", common, func(v *visit.Visit) { v.Page.Canonical = mustURL(hosts[0] + "/" + word() + "/") })
		default:
			c.add(at, visit.Fetched, "", common)
		}
	}
	c.points, c.paces, c.hosts = shopSeries(random), shopPaces(hosts), nil
	for i, h := range hosts {
		pace := []time.Duration{1900 * time.Millisecond, 500 * time.Millisecond, 700 * time.Millisecond}[i]
		c.hosts = append(c.hosts, store.HostEntry{Host: store.Host{Host: h, Pace: pace, Floor: pace / 2}, Incidents: int64(3 - i)})
	}
	return c
}

// shopSeries is the series of the shop's crawl: a run of half an hour, a night's pause, and
// ten more minutes.
func shopSeries(random *rand.Rand) []store.Point {
	var list []store.Point
	for i := range 240 {
		at := begin.Add(time.Duration(i) * 10 * time.Second)
		if i >= 180 {
			at = at.Add(8 * time.Hour)
		}
		pages := int64(7 + random.IntN(5))
		wait := func(part float64) time.Duration { return time.Duration(part * float64(30*time.Second)) }
		p := store.Point{
			Job: 1, At: at, Span: 10 * time.Second, Ran: 10 * time.Second, Memory: int64(60+20*math.Sqrt(float64(i)/240)+float64(random.IntN(6))) << 20,
			Ended:    map[visit.Outcome]int64{visit.Fetched: pages, visit.Redirected: int64(random.IntN(2)), visit.Skipped: int64(random.IntN(3))},
			Fetching: wait(0.2), Waits: map[visit.Wait]time.Duration{visit.WaitPace: wait(0.5), visit.WaitCrawlDelay: wait(0.2), visit.WaitRobots: wait(0.02)},
			Waiting: int64(1400 * math.Sin(math.Pi*min(float64(i)/240+0.05, 1))), Requests: pages + 2, Bytes: pages * 34_000,
		}
		if i > 60 && i < 90 {
			p.Ended[visit.Throttled], p.Ended[visit.Fetched], p.Waits[visit.WaitHold] = 1, pages/2, wait(0.6)
		}
		if i%11 == 0 {
			p.Ended[visit.Dead] = 1
		}
		list = append(list, p)
	}
	return list
}

// shopPaces are the pace changes of three hosts.
func shopPaces(hosts []string) []store.PaceChange {
	var list []store.PaceChange
	step := func(host string, second, from, to int, cause string) {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		list = append(list, store.PaceChange{Host: host, At: begin.Add(time.Duration(second) * time.Second), From: ms(from), To: ms(to), Cause: cause})
	}
	step(hosts[0], 300, 1000, 800, "probe")
	step(hosts[0], 620, 800, 2400, "incident")
	step(hosts[0], 700, 2400, 4800, "incident")
	step(hosts[0], 1100, 4800, 2900, "probe")
	step(hosts[0], 1500, 2900, 1900, "probe")
	step(hosts[1], 200, 1000, 600, "probe")
	step(hosts[1], 900, 600, 500, "probe")
	step(hosts[2], 400, 1000, 400, "probe")
	step(hosts[2], 1200, 400, 1200, "incident")
	step(hosts[2], 1600, 1200, 700, "probe")
	return list
}

// lastWeek compares the shop with an earlier crawl of it.
func lastWeek(c *crawl) *answer.Comparison {
	s := &answer.Comparison{
		Before: answer.CrawlSum{State: job.Complete, Ended: begin.Add(-7 * 24 * time.Hour), Pages: 1978, Seen: 2391},
		After:  answer.CrawlSum{State: job.Complete, Pages: 2090, Seen: 2600}, Certain: true, Whole: true, Same: 1840,
	}
	totals := map[answer.ChangeKind]int{answer.PageDead: 14, answer.PageGone: 31, answer.PageNew: 143, answer.PageRecovered: 3, answer.PageChanged: 93, answer.PageSlower: 27}
	next := 0
	for _, k := range answer.ChangeKinds {
		ch := answer.Change{Kind: k, Total: int64(totals[k])}
		for range totals[k] {
			next += 7
			u := answer.ChangedURL{URL: c.entries[next].Item.URL.String(), FoundOn: "https://shop.example/", Before: visit.Fetched, After: visit.Fetched, BeforeTook: ask.Seconds(80 * time.Millisecond), AfterTook: ask.Seconds(90 * time.Millisecond)}
			switch k {
			case answer.PageDead:
				u.After, u.Status = visit.Dead, 404
			case answer.PageGone:
				u.After, u.AfterTook = "", 0
			case answer.PageNew:
				u.Before, u.BeforeTook = "", 0
			case answer.PageRecovered:
				u.Before = visit.Throttled
			case answer.PageSlower:
				u.AfterTook = ask.Seconds(900 * time.Millisecond)
			}
			ch.URLs = append(ch.URLs, u)
		}
		s.Changes = append(s.Changes, ch)
	}
	return s
}
