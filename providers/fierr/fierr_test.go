package fierr

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrno(t *testing.T) {
	assert.Equal(t, "truncation error", ETrunc.Error())
	assert.Equal(t, "resource temporarily unavailable", EAgain.Error())
	assert.Equal(t, "libfabric error 999", Errno(999).Error())
	assert.ErrorIs(t, fmt.Errorf("send: %w", EAgain), Again)
	assert.ErrorIs(t, EAgain, syscall.EAGAIN)
	assert.False(t, errors.Is(EOther, syscall.Errno(256)), "256 and up are libfabric's own")
}
