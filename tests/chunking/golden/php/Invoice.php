<?php

declare(strict_types=1);

namespace Example\Billing;

use DateTimeImmutable;
use PHPUnit\Framework\Attributes\Test;
use PHPUnit\Framework\TestCase;

const CURRENCY = 'EUR';

/**
 * Adds up lines.
 */
function sum(array $lines): int
{
    return array_sum(array_column($lines, 'cents'));
}

interface Payable
{
    public function due(): int;
}

trait Dated
{
    private ?DateTimeImmutable $date = null;

    public function on(DateTimeImmutable $date): static
    {
        $this->date = $date;
        return $this;
    }
}

enum State: string
{
    case Open = 'open';
    case Paid = 'paid';

    public function closed(): bool
    {
        return $this === self::Paid;
    }
}

/**
 * An invoice with its lines.
 */
#[Entity]
final class Invoice implements Payable
{
    use Dated;

    public const RATE = 19, REDUCED = 7;

    private array $lines = [];
    protected static int $count = 0;

    public function __construct(private readonly string $number, private State $state = State::Open)
    {
        self::$count++;
    }

    /**
     * Adds a line.
     *
     * @param string $text what was sold
     * @param int $cents the price of one, in cents, without taxes
     * @param int $times how many were sold
     * @param int $rate the tax rate in per cent
     */
    public function add(string $text, int $cents, int $times = 1, int $rate = self::RATE): static
    {
        if ($cents < 0 || $times < 1) {
            throw new \InvalidArgumentException("a line needs a price and a count, not $cents and $times");
        }
        $this->lines[] = ['text' => $text, 'cents' => $cents * $times, 'rate' => $rate];
        return $this;
    }

    #[\Override]
    public function due(): int
    {
        $due = 0;
        foreach ($this->lines as $line) {
            $due += $line['cents'] + intdiv($line['cents'] * $line['rate'], 100);
        }
        return $this->state->closed() ? 0 : $due;
    }

    public function __toString(): string
    {
        $rows = array_map(
            fn (array $line): string => sprintf('%-40s %10.2f %s', $line['text'], $line['cents'] / 100, CURRENCY),
            $this->lines,
        );
        return "Invoice {$this->number}\n" . implode("\n", $rows);
    }
}

class InvoiceTest extends TestCase
{
    public function testDue(): void
    {
        $this->assertSame(119, (new Invoice('1'))->add('tea', 100)->due());
    }

    #[Test]
    public function nothingIsDueWhenPaid(): void
    {
        $this->assertSame(0, (new Invoice('2', State::Paid))->add('tea', 100)->due());
    }
}

it('adds up', function () {
    expect(sum([['cents' => 1], ['cents' => 2]]))->toBe(3);
});
