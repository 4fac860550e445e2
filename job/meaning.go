package job

// Meaning describes the state in one sentence, without its full stop. The reference page is
// generated from it.
func (s State) Meaning() string { return meanings[s] }

var meanings = map[State]string{
	Queued:    "waiting in the queue to start",
	Running:   "in progress or resumable: an interrupted or killed crawl is also running",
	Paused:    "sends no requests but keeps its place among the running jobs",
	Draining:  "finishes requests in flight and starts no new ones",
	Complete:  "all URLs processed",
	Partial:   "stopped with work left: by a limit, by patience, by low disk space, or because discovery was stopped",
	Blocked:   "everything is blocked by robots.txt, challenge pages or opt-outs",
	Cancelled: "stopped on request, or because a host kept refusing (cancel_after)",
	Failed:    "no host could be reached, or the job could not run",
}
