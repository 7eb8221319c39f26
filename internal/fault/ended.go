package fault

import (
	"context"
	"errors"
	"fmt"
)

// Ended is the error of a caller whose context has ended: errors.Is finds both ctx.Err()
// and the cause.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
