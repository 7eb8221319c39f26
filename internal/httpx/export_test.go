package httpx

import (
	"context"
	"net/http"
	"time"
)

// ModuleVersion is exported because test binaries have no build information.
var ModuleVersion = moduleVersion

// DecideOn returns what the functions that go-retryablehttp calls decide on an answer that no attempt made.
func DecideOn(resp *http.Response, err error) (again bool, after time.Duration, because error) {
	again, because = new(fetch).checkRetry(context.Background(), resp, err)
	return again, wait(0, 0, 0, resp), because
}
