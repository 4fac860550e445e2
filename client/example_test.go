package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"headway/client"
)

func Example() {
	ctx := context.Background()
	c, err := client.New(client.Config{Server: "https://headway.example.com", Key: os.Getenv("HEADWAY_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	job, err := c.CreateJob(ctx, client.JobRequest{
		Seeds:  []string{"https://example.com/"},
		Limits: &client.Limits{MaxPages: new(int64(1000))},
	}, client.CreateJobParams{})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.FollowEvents(ctx, client.FollowEventsParams{After: "0"}) {
		if err != nil {
			log.Fatal(err)
		}
		if event.Job == job.ID && (event.Kind == "job.complete" || event.Kind == "job.partial") {
			break
		}
	}
	for page, err := range c.AllPages(ctx, job.ID, client.ListPagesParams{Outcome: "dead"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page.URL, page.Status)
	}
}

func ExampleProblem() {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:8788"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.GetJob(context.Background(), 99)
	if p, ok := errors.AsType[*client.Problem](err); ok && p.Status == http.StatusNotFound {
		fmt.Println(p.Detail, "-", p.Hint)
	}
}

func ExampleClient_ExportPages() {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:8788"})
	if err != nil {
		log.Fatal(err)
	}
	lines, err := c.ExportPages(context.Background(), 1, client.ExportPagesParams{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = io.Copy(os.Stdout, lines)
	if err := errors.Join(err, lines.Close()); err != nil {
		log.Fatal(err)
	}
}
