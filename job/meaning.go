package job

// Meaning says in one sentence, without its full stop, what the state stands
// for. The reference page is made from it.
func (s State) Meaning() string { return meanings[s] }

var meanings = map[State]string{
	Queued:    "waits for a place among those that run",
	Running:   "works, or can go on: a crawl that was interrupted or killed is running, too",
	Paused:    "starts no request and keeps its place",
	Draining:  "finishes what is in flight and starts nothing",
	Complete:  "no URL of it waits anywhere",
	Partial:   "stopped with work left: by a limit, for want of patience or disk, or told to look for nothing new",
	Blocked:   "robots.txt or challenge pages forbid everything, or all of it asked not to be crawled",
	Cancelled: "stopped because a host refused on and on (cancel_after), or on request",
	Failed:    "no host could be reached, or the work could not be done",
}
