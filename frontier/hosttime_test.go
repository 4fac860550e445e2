package frontier

import (
	"testing"
	"time"

	"headway/job"
)

// TestHostTime lets three jobs take turns at one host. At any moment one of them is charged
// and the others wait for it, so that their own times add up to that of the host.
func TestHostTime(t *testing.T) {
	const jobs = 3
	r := newRig(t, Config{}, plainJob(1), plainJob(2), plainJob(3))
	for id := job.ID(1); id <= jobs; id++ {
		r.add(id, pages("shared.example", 4)...)
	}
	if served := r.drain(100); len(served) < jobs*4 {
		t.Fatalf("served %d pages: %v", len(served), served)
	}
	var own, whole time.Duration
	for _, s := range r.f.Account().Shares(r.now) {
		whole += s.Spent
	}
	for id := job.ID(1); id <= jobs; id++ {
		var others time.Duration
		for _, s := range r.f.HostTime(r.now, id) {
			if s.State == OtherJobs {
				others += s.Spent
			} else {
				own += s.Spent
			}
			if s.Hosts != 0 {
				t.Errorf("job %d has ended and is %s on %d hosts", id, s.State, s.Hosts)
			}
		}
		if others < whole/2 {
			t.Errorf("job %d waited %v of %v for the others", id, others, whole)
		}
	}
	if own != whole || whole < 10*time.Second {
		t.Errorf("the jobs have %v, the host %v", own, whole)
	}
	if r.f.HostTime(r.now, 99) != nil {
		t.Error("an unknown job has host time")
	}
}
