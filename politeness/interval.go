package politeness

import "time"

const (
	// addressGap is the least time between two requests to one address when
	// many hosts share it.
	addressGap = 100 * time.Millisecond

	// addressHosts is how many active hosts make an address crowded.
	addressHosts = 8
)

// Interval is a second clock that several hosts share: those of one domain, or
// those on one address. The zero Interval is ready.
type Interval struct{ last int64 }

// Admit says whether a request may start now, gap after the one before; the
// reason is [DomainInterval] or [AddressInterval].
func (i Interval) Admit(now time.Time, gap time.Duration, reason Reason) Wait {
	if i.last == 0 || gap <= 0 {
		return Wait{}
	}
	if until := i.last + ceilMillis(gap); now.UnixMilli() < until {
		return Wait{time.UnixMilli(until), reason}
	}
	return Wait{}
}

// Sent records that a request started at now. After an unclean end, when the
// last start is not known, call it with the time of loading.
func (i Interval) Sent(now time.Time) Interval { return Interval{last: ceilMilli(now)} }

// Last is when the last request started, the zero time before the first.
func (i Interval) Last() time.Time { return instant(i.last) }

// DomainGap is how far apart requests to the hosts of one domain start: half
// the pace of the host that is about to be asked, without jitter.
func (p Policy) DomainGap(s State) time.Duration {
	return time.Duration((p.pace(&s)+1)/2) * time.Millisecond
}

// AddressGap is how far apart requests to the hosts on one address start: 0
// while fewer than eight of them are active or the policy is free of it. In a
// fleet the address is shared by workers that do not talk to each other before
// each request; each takes the share of its own active hosts among all, so that
// together they keep the rate, though not the gap.
func (p Policy) AddressGap(ownActive, allActive int) time.Duration {
	if !p.SharesAddress || allActive < addressHosts || ownActive < 1 {
		return 0
	}
	return addressGap * time.Duration(max(allActive, ownActive)) / time.Duration(ownActive)
}
