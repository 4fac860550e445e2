package fetch

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// cutSlack is how many bytes beyond the decompressed limit are read of a compressed
// body that may be cut: compression can make a body slightly longer.
const cutSlack = 4 << 10

// readBody reads the body as it is sent into the result's buffer.
func (x *exchange) readBody(ctx context.Context, resp *http.Response) error {
	limit, cut, tooLarge := x.maxBody(), x.req.CutBody, errBodyTooLarge
	if most := x.req.MaxSent; most > 0 && most < limit {
		limit, tooLarge = most, ErrOverBudget
	}
	if x.result.decisive() && limit > errorPage {
		limit, cut = errorPage, true
	}
	if resp.ContentLength > limit && !cut {
		return tooLarge
	}
	if cut && len(x.codings) > 0 {
		limit += cutSlack
	}
	r := x.result
	for {
		if len(r.buf.room()) == 0 {
			var err error
			if r.buf, err = x.client.buffers.widenOn(ctx, r.hold, r.buf, limit, x.pauses, x.resumes); err != nil {
				return err
			}
		}
		room := r.buf.room()
		// Reading one byte beyond the limit shows whether the body is longer.
		if most := limit + 1 - int64(len(r.buf.data)); int64(len(room)) > most {
			room = room[:most]
		}
		n, err := resp.Body.Read(room)
		x.watch.progress(n)
		x.stall.more(n)
		r.buf.data = r.buf.data[:len(r.buf.data)+n]
		if int64(len(r.buf.data)) > limit {
			r.buf.data = r.buf.data[:limit]
			r.Cut = cut
			if cut {
				return nil
			}
			return tooLarge
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pauses stops the timeouts while the server waits for us.
func (x *exchange) pauses() { x.watch.pause(); x.stall.pause() }

// resumes restarts the timeouts.
func (x *exchange) resumes() { x.watch.resume(); x.stall.resume() }

// decode removes the content codings of the body, the last one first.
func (x *exchange) decode(ctx context.Context) error {
	r := x.result
	if len(x.codings) == 0 || len(r.buf.data) == 0 {
		return nil
	}
	err := x.decompress(ctx)
	if err != nil && x.statusDecides(err) {
		return nil
	}
	return err
}

func (x *exchange) decompress(ctx context.Context) error {
	r, cfg := x.result, &x.client.cfg
	job := decodeJob{buffers: x.client.buffers, limit: x.maxBody(), cut: x.req.CutBody, wireCut: r.Cut}
	if r.decisive() {
		job.limit, job.cut = min(job.limit, errorPage), true
	}
	if ratio := max(cfg.RatioAfter, cfg.MaxRatio*r.WireBytes); ratio < job.limit {
		job.limit, job.ratio = ratio, true
	}
	// Reserve all memory before taking a decoder. A holder of a decoder then never
	// waits for memory, which rules out a deadlock.
	need := bufferSize(job.limit+1, job.limit) * int64(len(x.codings))
	if err := r.hold.grow(ctx, need, func() {}, func() {}); err != nil {
		return x.stopped(err)
	}
	d, err := x.client.decoders.take(ctx)
	if err != nil {
		return x.stopped(err)
	}
	compressed := r.buf
	out := compressed
	for i := len(x.codings) - 1; i >= 0 && err == nil; i-- {
		var next *buffer
		next, err = d.decompress(x.codings[i], out.data, &job)
		job.wireCut = job.wireCut || job.wasCut
		if out != compressed {
			job.buffers.put(out)
		}
		out = next
	}
	x.client.decoders.give(d)
	if err != nil {
		if out != nil {
			job.buffers.put(out)
		}
		r.hold.shrink(need)
		return err
	}
	r.buf, r.Cut = out, job.wasCut
	r.hold.shrink(need + compressed.size() - out.size())
	job.buffers.put(compressed)
	return nil
}
