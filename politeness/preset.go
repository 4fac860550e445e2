package politeness

import "time"

// DefaultPreset is the preset for any public site.
const DefaultPreset = "polite"

// presets are the numbers that differ between presets. Each value names its source: "table"
// is the preset table of the product's specification, section 7; "text" is its prose, section
// 4, 5 or 7; the others are the product's source documents.
var presets = [...]Policy{
	common(Policy{
		Name:          "polite",
		Base:          time.Second,                    // table
		InFlight:      2,                              // table: up to 2; "Crawl Politeness Integration": 2 per host
		Refusing:      Backoff{5 * time.Second, hour}, // table: 5 s to 1 h
		Need:          5,                              // text: Step, Probe
		StepDoubles:   true,                           // text: Step
		LatencyRise:   300,                            // text: Incident, 3x
		SharesAddress: true,                           // text: Second intervals
	}),
	common(Policy{
		Name:          "audit",
		Base:          200 * time.Millisecond,       // table: 200 to 500 ms random;
		Spread:        300 * time.Millisecond,       // "Crawl Politeness Integration": minDelayMs 200, maxDelayMs 500
		InFlight:      2,                            // table; ibid.: maxConcurrent 2
		Refusing:      Backoff{time.Second, minute}, // table: 1 s to 60 s
		Need:          5,                            // text: Step, Probe
		StepDoubles:   true,                         // text: Step
		LatencyRise:   300,                          // text: Incident, 3x
		SharesAddress: true,                         // text: Second intervals

		AllowUnreachableRobots: true, // table; ibid.: "defaults to allowed (fail open)", low confidence
	}),
	common(Policy{
		Name:          "warm",
		Base:          500 * time.Millisecond,       // table; "Domain Rate Limiter Enhancement": base delay 500 ms
		InFlight:      10,                           // table: the job's number, 10; ibid.: "base concurrency from job"
		Refusing:      Backoff{time.Second, minute}, // table: 1, 2, 4, 8 … 60 s; "Per-Domain Rate Limiting": backoff schedule
		Refuses403:    true,                         // table; "Domain Rate Limiter Enhancement": 429/403/503
		Need:          20,                           // text: Step, Probe; ibid.: N = 20 successes
		StepDoubles:   false,                        // text: Step, always 1 s; ibid.: "+1s each time (linear growth)"
		LatencyRise:   150,                          // text: Incident, 1.5x
		SharesAddress: true,                         // text: only `owned` is free of the address interval
	}),
	common(Policy{
		Name:          "map",
		Base:          time.Second,                    // table; "Concurrency Architecture Deep Dive": 1 s per host
		InFlight:      150,                            // table: up to 150; ibid.: MAX_INFLIGHT 150
		Refusing:      Backoff{2 * time.Second, hour}, // table: 2 s to 3600 s; ibid.: 2^failures, at most 1 h
		Need:          5,                              // text: Step, Probe
		StepDoubles:   true,                           // text: Step
		LatencyRise:   300,                            // text: Incident, 3x
		SharesAddress: true,                           // text: Second intervals
	}),
	common(Policy{
		Name:          "owned",
		Base:          0,                                // table
		InFlight:      256,                              // table: up to 256, grown
		Refusing:      Backoff{2 * time.Second, minute}, // table: 2 s to 60 s
		Need:          5,                                // text: Step, Probe
		StepDoubles:   true,                             // text: Step
		LatencyRise:   300,                              // text: Incident, 3x
		SharesAddress: false,                            // text: Second intervals, "off for owned"
	}),
}

const (
	minute = time.Minute
	hour   = time.Hour
)

// common sets what all presets have in common.
func common(p Policy) Policy {
	p.Jitter = 5                               // text: Pace, 5 % upward
	p.Failing = Backoff{2 * time.Second, hour} // text: layer 6; "Concurrency Architecture Deep Dive": 2 s, doubling, at most 3600 s
	p.RefusalRetries = 3                       // text: Retries; "Domain Rate Limiter Enhancement": up to 3 for 429/403/503
	p.FailureRetries = 2                       // text: Retries
	p.FailureThreshold = 20                    // text: section 5; ibid.: BBB_JOB_FAILURE_THRESHOLD 20
	p.CancelAfter = 0                          // text: section 5, optional and off; ibid.: 20 where it is wanted
	return p
}

// Preset returns the policy of a named preset, and whether there is one.
func Preset(name string) (Policy, bool) {
	for _, p := range presets {
		if p.Name == name {
			return p, true
		}
	}
	return Policy{}, false
}

// PresetNames lists the presets in the order in which they are documented.
func PresetNames() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// MinPublic is the shortest base for hosts that are not owned.
const MinPublic = 200 * time.Millisecond

// ForPublicHosts reports whether the policy may be used for hosts that are not owned: the
// presets owned and warm, and any base below [MinPublic], are for owned hosts.
func (p *Policy) ForPublicHosts() bool {
	return p.Base >= MinPublic && p.Name != "owned" && p.Name != "warm"
}
