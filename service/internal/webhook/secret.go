package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// secretPrefix is what a secret begins with where people see it.
const secretPrefix = "whsec_"

// secretSize is the length of the secrets we make, in bytes. The standard wants 24
// to 64.
const secretSize = 32

// NewSecret makes a secret.
func NewSecret() []byte {
	secret := make([]byte, secretSize)
	// crypto/rand does not fail: it ends the process where it would have to.
	_, _ = rand.Read(secret)
	return secret
}

// FormatSecret is a secret as the receiver gets to see it, once.
func FormatSecret(secret []byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// sign returns the value of webhook-signature: one signature for each secret.
func sign(secrets [][]byte, id string, at time.Time, body []byte) string {
	signed := make([]string, len(secrets))
	for i, secret := range secrets {
		h := hmac.New(sha256.New, secret)
		h.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		h.Write(body)
		signed[i] = "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	return strings.Join(signed, " ")
}
