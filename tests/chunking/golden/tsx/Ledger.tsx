import React, { useState } from "react";

type Entry = { id: number; label: string; amount: number };

interface Props {
  entries: Entry[];
  onSelect?: (entry: Entry) => void;
}

const total = (entries: Entry[]) => entries.reduce((sum, entry) => sum + entry.amount, 0);

/** A table of entries with their sum. */
export const Ledger: React.FC<Props> = ({ entries, onSelect }) => {
  const [selected, select] = useState<number | null>(null);

  const choose = (entry: Entry) => {
    select(entry.id);
    onSelect?.(entry);
  };

  return (
    <section className="ledger">
      <header>
        <h2>Entries</h2>
        <p>{entries.length === 0 ? "Nothing has been entered." : `${entries.length} entries`}</p>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">Label</th>
            <th scope="col">Amount</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id} aria-selected={entry.id === selected} onClick={() => choose(entry)}>
              <td>{entry.label}</td>
              <td className={entry.amount < 0 ? "negative" : "positive"}>{entry.amount.toFixed(2)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td>Sum</td>
            <td>{total(entries).toFixed(2)}</td>
          </tr>
        </tfoot>
      </table>
      <footer>
        <small>Amounts are in the currency of the account; a negative amount is a debit.</small>
      </footer>
    </section>
  );
};

export default function Empty() {
  return <Ledger entries={[]} />;
}
