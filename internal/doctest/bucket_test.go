//go:build linux

package doctest

import (
	"fmt"
	"io"
	"net/http"
)

// bucketName is the example bucket of the guides, and bucketAddr an S3 server with
// another one.
const (
	bucketName = "s3.example"
	bucketAddr = "10.0.0.5"
	bucketPort = "9000"
)

// bucket responds as S3 does to uploads, but stores nothing: the tests of output/s3
// use a real server.
func bucket(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the client is gone
	}
	q := r.URL.Query()
	w.Header().Set("Content-Type", "application/xml")
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		fmt.Fprint(w, `<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>`)
	case r.Method == http.MethodPost:
		fmt.Fprint(w, `<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>`)
	case r.Method == http.MethodGet:
		fmt.Fprint(w, `<ListMultipartUploadsResult></ListMultipartUploadsResult>`)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("ETag", `"1"`)
	}
}

// bucketEnv is the environment of a user with a bucket.
func bucketEnv() []string {
	return []string{"AWS_ENDPOINT_URL=https://" + bucketName, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=doctest", "AWS_SECRET_ACCESS_KEY=not-a-secret"}
}
