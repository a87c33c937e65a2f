package ui

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// NewTable makes a table. The columns with these headings are aligned to the right.
func NewTable(title string, right ...string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Format.Footer = text.FormatDefault
	t.Style().Title.Align = text.AlignLeft
	if title != "" {
		t.SetTitle("%s", title)
	}
	var configs []table.ColumnConfig
	for _, name := range right {
		configs = append(configs, table.ColumnConfig{Name: name, Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight})
	}
	t.SetColumnConfigs(configs)
	return t
}

// Print writes the table and ends the line.
func Print(w io.Writer, t table.Writer) error {
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
