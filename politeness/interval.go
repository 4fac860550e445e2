package politeness

import "time"

const (
	// addressGap is the minimum time between two requests to one address that many hosts
	// share.
	addressGap = 100 * time.Millisecond

	// addressHosts is from how many active hosts on an address addressGap applies.
	addressHosts = 8
)

// Interval is a second interval that several hosts share: those of one domain, or those on
// one address. The zero Interval is ready for use.
type Interval struct{ last int64 }

// Admit reports whether a request may start now, gap after the previous one; the reason is
// [DomainInterval] or [AddressInterval].
func (i Interval) Admit(now time.Time, gap time.Duration, reason Reason) Wait {
	if i.last == 0 || gap <= 0 {
		return Wait{}
	}
	if until := i.last + ceilMillis(gap); now.UnixMilli() < until {
		return Wait{time.UnixMilli(until), reason}
	}
	return Wait{}
}

// Sent records that a request started at now. After an unclean end, when the last start is
// unknown, call it with the time of loading.
func (i Interval) Sent(now time.Time) Interval { return Interval{last: ceilMilli(now)} }

// Last is when the last request started, the zero time before the first.
func (i Interval) Last() time.Time { return instant(i.last) }

// DomainGap is the interval between requests to the hosts of one domain: half the pace of
// the host that is contacted next, without jitter.
func (p Policy) DomainGap(s State) time.Duration {
	return time.Duration((p.pace(&s)+1)/2) * time.Millisecond
}

// AddressGap is the interval between requests to the hosts on one address: 0 while fewer
// than eight of them are active or if it is off in the policy. Workers of a fleet do not
// coordinate each request to a shared address; each takes the share of its own active hosts,
// so that together they keep the rate, though not the interval.
func (p Policy) AddressGap(ownActive, allActive int) time.Duration {
	if !p.SharesAddress || allActive < addressHosts || ownActive < 1 {
		return 0
	}
	return addressGap * time.Duration(max(allActive, ownActive)) / time.Duration(ownActive)
}
