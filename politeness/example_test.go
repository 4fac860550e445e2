package politeness_test

import (
	"fmt"
	"time"

	"headway/politeness"
)

// A host serves one request, refuses the next and sends Retry-After: 30.
func ExamplePolicy_Observe() {
	policy, _ := politeness.Preset("polite")
	policy.Jitter = 0 // for a readable example
	host := politeness.New("https://shop.example")

	now := time.Date(2026, time.November, 15, 10, 0, 0, 0, time.UTC)
	answers := []politeness.Answer{
		{Status: 200, Latency: 120 * time.Millisecond},
		{Status: 429, HasRetryAfter: true, RetryAfter: 30 * time.Second},
		{Status: 200, Latency: 130 * time.Millisecond},
	}
	for _, answer := range answers {
		for wait := policy.Admit(host, now); !wait.Go(); wait = policy.Admit(host, now) {
			fmt.Printf("%s  waits for %s\n", now.Format("15:04:05"), wait.Reason)
			now = wait.Until // a scheduler would serve another host
		}
		host = policy.Sent(host, now)
		answer.SentAt = now
		var effect politeness.Effect
		host, effect = policy.Observe(host, now, answer)
		fmt.Printf("%s  answers %d %q\n", now.Format("15:04:05"), answer.Status, effect)
	}
	fmt.Println("pace is now", policy.Pace(host))
	// Output:
	// 10:00:00  answers 200 ""
	// 10:00:00  waits for pace
	// 10:00:01  answers 429 "slowed to 2.0 s: 429 with Retry-After 30; on hold for 30 s"
	// 10:00:01  waits for hold
	// 10:00:31  answers 200 "accepting requests again after refusals"
	// pace is now 2s
}

// Two jobs want the same host: the more careful one decides.
func ExampleMerge() {
	polite, _ := politeness.Preset("polite")
	warm, _ := politeness.Preset("warm")
	both := politeness.Merge(warm, polite)
	fmt.Println(both.Name, both.Base, both.InFlight)
	// Output: warm+polite 1s 2
}
