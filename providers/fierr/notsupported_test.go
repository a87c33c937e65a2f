package fierr

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotSupported(t *testing.T) {
	for _, err := range []error{ErrNotSupported, EOpNotSupp, ENoSys, fmt.Errorf("rail: %w", ENoSys)} {
		require.ErrorIs(t, err, ErrNotSupported)
	}
	require.ErrorIs(t, ErrNotSupported, EOpNotSupp)
	require.ErrorIs(t, ErrNotSupported, syscall.EOPNOTSUPP)
	e, ok := Of(fmt.Errorf("rail: %w", ErrNotSupported))
	require.True(t, ok)
	require.Equal(t, EOpNotSupp, e)
	for _, err := range []error{EInval, ENoProtoOpt, EBadFlags, ENoMsg} {
		require.False(t, errors.Is(err, ErrNotSupported), err)
	}
	require.False(t, errors.Is(ErrNotSupported, ENoSys))
}
